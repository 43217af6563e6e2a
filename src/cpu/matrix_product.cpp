#include "cpu/matrix_product.h"

#include "core/signals_held.h"

namespace headwise {
namespace {

const dnnl::engine& cpu_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

}  // namespace

MatrixProduct::MatrixProduct(const Size& size, DType type)
    : engine_(cpu_engine()), stream_(engine_) {
  using dnnl::memory;
  const auto dtype = type == DType::bf16 ? memory::data_type::bf16 : memory::data_type::f32;
  const memory::desc a({size.batch, size.m, size.k}, dtype, memory::format_tag::abc);
  const memory::desc b({size.batch, size.k, size.n}, dtype,
                       size.b_transposed ? memory::format_tag::acb : memory::format_tag::abc);
  const memory::desc c({size.batch, size.m, size.n}, memory::data_type::f32,
                       memory::format_tag::abc);
  primitive_ = dnnl::matmul(dnnl::matmul::primitive_desc(dnnl::matmul::desc(a, b, c), engine_));
  a_ = memory(a, engine_, nullptr);
  b_ = memory(b, engine_, nullptr);
  c_ = memory(c, engine_, nullptr);
}

void MatrixProduct::run(const void* a, const void* b, float* c) {
  a_.set_data_handle(const_cast<void*>(a));
  b_.set_data_handle(const_cast<void*>(b));
  c_.set_data_handle(c);
  const SignalsHeld held;
  primitive_.execute(stream_, {{DNNL_ARG_SRC, a_}, {DNNL_ARG_WEIGHTS, b_}, {DNNL_ARG_DST, c_}});
  stream_.wait();
}

}  // namespace headwise
