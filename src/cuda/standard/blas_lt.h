#pragma once

#include <cublasLt.h>

namespace headwise::cuda::standard {

/// The functions of cuBLASLt that we use. The library is opened while the program runs, so that the
/// program starts where it is not installed.
class BlasLt {
 public:
  static constexpr const char* kLibrary = "libcublasLt.so.13";

  /// Opened once; null where the library, or a function in it, was not found.
  static const BlasLt* find();

  /// The device's handle, made once a process; the device is the current one. Throws
  /// Error(not_possible).
  cublasLtHandle_t handle(int device) const;

  /// Throws Error(not_possible) "WHAT: cuBLASLt's message" where a call failed.
  void check(cublasStatus_t status, const char* what) const;

  decltype(&::cublasLtMatmul) matmul = nullptr;
  decltype(&::cublasLtMatmulAlgoGetHeuristic) algo_get_heuristic = nullptr;
  decltype(&::cublasLtMatmulDescCreate) desc_create = nullptr;
  decltype(&::cublasLtMatmulDescDestroy) desc_destroy = nullptr;
  decltype(&::cublasLtMatmulDescSetAttribute) desc_set = nullptr;
  decltype(&::cublasLtMatrixLayoutCreate) layout_create = nullptr;
  decltype(&::cublasLtMatrixLayoutDestroy) layout_destroy = nullptr;
  decltype(&::cublasLtMatrixLayoutSetAttribute) layout_set = nullptr;
  decltype(&::cublasLtMatmulPreferenceCreate) preference_create = nullptr;
  decltype(&::cublasLtMatmulPreferenceDestroy) preference_destroy = nullptr;
  decltype(&::cublasLtMatmulPreferenceSetAttribute) preference_set = nullptr;

 private:
  BlasLt() = default;
  bool open();

  decltype(&::cublasLtCreate) create_ = nullptr;
  decltype(&::cublasLtGetStatusString) status_string_ = nullptr;
};

}  // namespace headwise::cuda::standard
