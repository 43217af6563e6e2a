// ggml's flash attention on the CPU behind four functions, for ggml_flash.py.
#include <ggml-cpu.h>
#include <ggml.h>
#include <stdlib.h>

struct attention {
  struct ggml_context* context;
  struct ggml_tensor *q, *k, *v, *mask, *out;
  struct ggml_cgraph* graph;
  struct ggml_cplan plan;
};

struct sizes {
  int64_t dim, q_heads, kv_heads, q_len, kv_len, batch;
};

// Bytes of a row of `count` elements of `type`.
int64_t flash_row_bytes(int type, int64_t count) {
  return (int64_t)ggml_row_size((enum ggml_type)type, count);
}

// from: f32 [rows, dim]; to: [rows] of blocks of `type`.
void flash_quantise(int type, const float* from, void* to, int64_t rows, int64_t dim) {
  ggml_quantize_chunk((enum ggml_type)type, from, to, 0, rows, dim, NULL);
}

// q: f32 [batch, q_heads, q_len, dim]; mask: f16 [q_len, kv_len] or null; out: f32 [batch, q_len,
// q_heads, dim]. They must outlive the result, which flash_free() frees; null: no memory.
struct attention* flash_new(int type, const struct sizes* n, float scale, void* q, void* mask,
                            void* out, int threads) {
  ggml_cpu_init();
  struct attention* a = calloc(1, sizeof *a);
  if (a == NULL) return NULL;
  const struct ggml_init_params params = {16 * ggml_tensor_overhead() + ggml_graph_overhead(), NULL,
                                          true};
  a->context = ggml_init(params);
  const enum ggml_type kv_type = (enum ggml_type)type;
  a->q = ggml_new_tensor_4d(a->context, GGML_TYPE_F32, n->dim, n->q_len, n->q_heads, n->batch);
  a->k = ggml_new_tensor_4d(a->context, kv_type, n->dim, n->kv_len, n->kv_heads, n->batch);
  a->v = ggml_new_tensor_4d(a->context, kv_type, n->dim, n->kv_len, n->kv_heads, n->batch);
  if (mask != NULL) a->mask = ggml_new_tensor_2d(a->context, GGML_TYPE_F16, n->kv_len, n->q_len);
  a->out = ggml_flash_attn_ext(a->context, a->q, a->k, a->v, a->mask, scale, 0.0F, 0.0F);
  a->q->data = q;
  a->out->data = out;
  if (mask != NULL) a->mask->data = mask;
  a->graph = ggml_new_graph(a->context);
  ggml_build_forward_expand(a->graph, a->out);
  a->plan = ggml_graph_plan(a->graph, threads, NULL);
  a->plan.work_data = malloc(a->plan.work_size + 64);
  return a;
}

// k, v: [batch, kv_heads, kv_len, dim] of flash_new()'s type. Returns a ggml_status, 0 for success.
int flash_run(struct attention* a, void* k, void* v) {
  a->k->data = k;
  a->v->data = v;
  return (int)ggml_graph_compute(a->graph, &a->plan);
}

void flash_free(struct attention* a) {
  free(a->plan.work_data);
  ggml_free(a->context);
  free(a);
}
