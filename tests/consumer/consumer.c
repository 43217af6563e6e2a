/* The same as consumer.cpp through the installed C API, and an error with its text. */

#include <headwise/headwise.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed(const char* what) {
  fprintf(stderr, "%s: %s\n", what, headwise_last_error());
  return EXIT_FAILURE;
}

static headwise_tensor dense(void* data, int64_t tokens) {
  headwise_tensor tensor;
  memset(&tensor, 0, sizeof tensor);
  tensor.data = data;
  tensor.dtype = HEADWISE_F32;
  tensor.rank = 3;
  tensor.sizes[0] = tokens;
  tensor.sizes[1] = 1;
  tensor.sizes[2] = 2;
  tensor.strides[0] = 2;
  tensor.strides[1] = 2;
  tensor.strides[2] = 1;
  return tensor;
}

int main(void) {
  float q[2] = {0, 0}, k[4] = {1, 2, 0, 0}, v[4] = {1, 10, 0, 0}, out[2] = {0, 0};
  float new_k[2] = {3, 4}, new_v[2] = {3, 30};
  const int32_t q_lens[1] = {1}, kv_lens[1] = {2};
  const int64_t kv_start[1] = {0};
  headwise_shape shape;
  headwise_step step;
  headwise_kv kv;
  headwise_append append;
  headwise_args args;
  headwise_plan* plan = NULL;
  headwise_binding* binding = NULL;
  void* workspace;
  size_t bytes;

  headwise_shape_init(&shape);
  shape.q_heads = shape.kv_heads = 1;
  shape.head_dim_qk = shape.head_dim_v = 2;
  shape.q_type = shape.kv_type = HEADWISE_F32;

  headwise_step_init(&step);
  step.layout = HEADWISE_PACKED;
  step.q = dense(q, 1);
  step.out = dense(out, 1);
  step.requests = 1;
  step.q_lens = q_lens;
  step.kv_lens = kv_lens;
  step.kv_start = kv_start;
  step.packed_tokens = 2;

  headwise_kv_init(&kv);
  kv.k = dense(k, 2);
  kv.v = dense(v, 2);

  shape.kv_heads = 0;
  if (headwise_plan_create(&shape, &step, NULL, &plan) != HEADWISE_INVALID_INPUT || plan != NULL ||
      strstr(headwise_last_error(), "kv_heads") == NULL)
    return failed("a shape without KV heads was not refused");
  shape.kv_heads = 1;

  if (headwise_plan_create(&shape, &step, NULL, &plan) != HEADWISE_OK) return failed("plan");
  headwise_append_init(&append);
  append.k = dense(new_k, 1);
  append.v = dense(new_v, 1);
  if (headwise_append_kv(plan, &step, &kv, &append) != HEADWISE_OK) return failed("append");
  if (headwise_bind(plan, &kv, &binding) != HEADWISE_OK) return failed("bind");
  bytes = (size_t)headwise_plan_workspace_bytes(plan);
  workspace = malloc(bytes + 64);
  if (workspace == NULL) return EXIT_FAILURE;
  headwise_args_init(&args);
  args.kv = binding;
  args.workspace = (char*)workspace + (64 - (uintptr_t)workspace % 64);
  if (headwise_run(plan, &args) != HEADWISE_OK) return failed("run");

  printf("C: %s -> %g %g\n", headwise_plan_text(plan), out[0], out[1]);
  headwise_binding_free(binding);
  headwise_plan_free(plan);
  free(workspace);
  return fabsf(out[0] - 2.0F) < 1e-5F && fabsf(out[1] - 20.0F) < 1e-4F ? EXIT_SUCCESS
                                                                       : EXIT_FAILURE;
}
