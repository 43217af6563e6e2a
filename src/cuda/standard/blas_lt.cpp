#include "cuda/standard/blas_lt.h"

#include <dlfcn.h>

#include <map>
#include <mutex>

#include "core/check.h"
#include "headwise/error.h"

namespace headwise::cuda::standard {

const BlasLt* BlasLt::find() {
  static BlasLt functions;
  static const bool found = functions.open();
  return found ? &functions : nullptr;
}

bool BlasLt::open() {
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return false;
  bool complete = true;
  const auto load = [&]<class Function>(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    complete = complete && function != nullptr;
  };
  load(matmul, "cublasLtMatmul");
  load(algo_get_heuristic, "cublasLtMatmulAlgoGetHeuristic");
  load(desc_create, "cublasLtMatmulDescCreate");
  load(desc_destroy, "cublasLtMatmulDescDestroy");
  load(desc_set, "cublasLtMatmulDescSetAttribute");
  load(layout_create, "cublasLtMatrixLayoutCreate");
  load(layout_destroy, "cublasLtMatrixLayoutDestroy");
  load(layout_set, "cublasLtMatrixLayoutSetAttribute");
  load(preference_create, "cublasLtMatmulPreferenceCreate");
  load(preference_destroy, "cublasLtMatmulPreferenceDestroy");
  load(preference_set, "cublasLtMatmulPreferenceSetAttribute");
  load(create_, "cublasLtCreate");
  load(status_string_, "cublasLtGetStatusString");
  return complete;
}

cublasLtHandle_t BlasLt::handle(int device) const {
  // Never destroyed: at exit the driver may be gone before them.
  static std::mutex mutex;
  static auto& handles = *new std::map<int, cublasLtHandle_t>;
  const std::lock_guard lock(mutex);
  cublasLtHandle_t& handle = handles[device];
  if (handle == nullptr) check(create_(&handle), "cublasLtCreate");
  return handle;
}

void BlasLt::check(cublasStatus_t status, const char* what) const {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw Error(ErrorCode::not_possible, concat(what, ": ", status_string_(status)));
}

}  // namespace headwise::cuda::standard
