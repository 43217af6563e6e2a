#ifndef HEADWISE_HEADWISE_H
#define HEADWISE_HEADWISE_H

/* The C API: shape, plan, run, error text. For engines in other languages and for scripts that load
 * libheadwise.so. Each struct is filled by its _init function and then by the caller; the meaning,
 * shape and unit of every field are those of the C++ struct of the same name (attention_shape.h,
 * step_batch.h, kv_binding.h, append_kv.h, plan.h). No function throws or aborts; a call that fails
 * has changed nothing. */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum headwise_status {
  HEADWISE_OK = 0,
  HEADWISE_INVALID_INPUT = 1, /* a field, tensor or table is out of range or inconsistent */
  HEADWISE_UNKNOWN_NAME = 2,  /* a backend that nobody knows */
  HEADWISE_NOT_POSSIBLE = 3,  /* well formed, but not on this machine or not by this backend */
  HEADWISE_FAILED = 4         /* anything else: out of memory, a library's failure */
} headwise_status;

typedef enum headwise_dtype {
  HEADWISE_F32 = 0,
  HEADWISE_F16 = 1,
  HEADWISE_BF16 = 2,
  HEADWISE_F8E4M3 = 3,
  HEADWISE_I8 = 4
} headwise_dtype;

typedef enum headwise_device_type { HEADWISE_CPU = 0, HEADWISE_CUDA = 1 } headwise_device_type;
typedef enum headwise_layout { HEADWISE_PAGED = 0, HEADWISE_PACKED = 1 } headwise_layout;
typedef enum headwise_scales {
  HEADWISE_SCALE_TENSOR = 0,
  HEADWISE_SCALE_KV_HEAD = 1
} headwise_scales;

typedef struct headwise_device {
  int32_t type;  /* headwise_device_type */
  int32_t index; /* ordinal; 0 for the CPU */
} headwise_device;

/* rank 0: absent. Sizes and strides in elements. */
typedef struct headwise_tensor {
  void* data;
  int32_t dtype; /* headwise_dtype */
  int32_t rank;
  headwise_device device;
  int64_t sizes[4];
  int64_t strides[4];
} headwise_tensor;

typedef struct headwise_shape {
  uint32_t bytes; /* sizeof(headwise_shape), set by _init */
  int32_t q_heads, kv_heads, head_dim_qk, head_dim_v;
  int32_t q_type, kv_type; /* headwise_dtype */
  int32_t fp8_scale;       /* headwise_scales */
  int32_t has_scale;       /* 0: scale is 1 / sqrt(head_dim_qk) */
  float scale;
  float softcap;                     /* 0: none */
  int64_t window_left, window_right; /* tokens; -1: unlimited */
  int32_t sinks;                     /* 0 or 1 */
  int32_t v_is_k_prefix;             /* 0 or 1 */
} headwise_shape;

typedef struct headwise_tables {
  int32_t page_size; /* tokens */
  int32_t columns, heads;
  int64_t pool_pages;
  const int32_t* pages;                /* [requests, heads, columns] */
  const int32_t* positions;            /* the same, or null */
  int64_t request_stride, head_stride; /* elements */
  headwise_device device;
} headwise_tables;

typedef struct headwise_step {
  uint32_t bytes; /* sizeof(headwise_step), set by _init */
  int32_t layout; /* headwise_layout */
  headwise_tensor q, out, lse;
  int64_t requests;
  const int32_t* q_lens;        /* [requests] */
  const int32_t* kv_lens;       /* [requests] */
  const int32_t* q_start;       /* [requests], or null */
  headwise_tables tables;       /* paged */
  const int64_t* kv_start;      /* packed: [requests] */
  int64_t packed_tokens;        /* packed */
  const int32_t* device_q_lens; /* CUDA: [requests] on the device, or null */
  const int32_t* device_kv_lens;
  const int32_t* device_q_start;
} headwise_step;

typedef struct headwise_kv {
  uint32_t bytes; /* sizeof(headwise_kv), set by _init */
  headwise_tensor k, v, k_scale, v_scale;
} headwise_kv;

typedef struct headwise_options {
  uint32_t bytes;      /* sizeof(headwise_options), set by _init */
  int32_t threads;     /* CPU threads; 0: all */
  const char* backend; /* a name forces it; null: HEADWISE_BACKEND, or the best */
  int32_t batch_invariant;
  int32_t capacity_q_len, capacity_kv_len; /* zeros stand for the first step's own */
  int64_t capacity_requests, capacity_tokens, capacity_pairs;
} headwise_options;

typedef struct headwise_plan headwise_plan;       /* owns a plan */
typedef struct headwise_binding headwise_binding; /* owns a KvBinding */

typedef struct headwise_args {
  uint32_t bytes; /* sizeof(headwise_args), set by _init */
  const headwise_binding* kv;
  const float* sinks; /* [q_heads] */
  const float* q_scale;
  const float* k_scale;
  const float* v_scale;
  void* workspace; /* headwise_plan_workspace_bytes(), 64-byte aligned */
  void* stream;
  const void* q; /* other buffers of the step's layout, or null */
  void* out;
  float* lse;
} headwise_args;

/* AppendArgs of append_kv.h; the cache is a headwise_kv beside it. */
typedef struct headwise_append {
  uint32_t bytes;       /* sizeof(headwise_append), set by _init */
  headwise_tensor k, v; /* new rows */
  const float* k_scale; /* f8e4m3 */
  const float* v_scale;
  uint64_t* saturated;       /* f8e4m3, or null */
  const int32_t* first_rows; /* CUDA: [requests] on the device, or null */
  void* stream;
} headwise_append;

void headwise_shape_init(headwise_shape* shape);
void headwise_step_init(headwise_step* step);
void headwise_kv_init(headwise_kv* kv);
void headwise_options_init(headwise_options* options);
void headwise_args_init(headwise_args* args);
void headwise_append_init(headwise_append* append);

/* "0.1.0". */
const char* headwise_version(void);
/* One line about this thread's last call that did not return HEADWISE_OK; valid until the next one.
 */
const char* headwise_last_error(void);

/* Chooses a backend and plans the step on it. `options` may be null. The caller frees *plan. */
headwise_status headwise_plan_create(const headwise_shape* shape, const headwise_step* step,
                                     const headwise_options* options, headwise_plan** plan);
headwise_status headwise_plan_update(headwise_plan* plan, const headwise_step* step);
int64_t headwise_plan_workspace_bytes(const headwise_plan* plan);
/* The choice as logs print it, with the reason for every backend that was not taken; lives as the
 * plan. */
const char* headwise_plan_text(const headwise_plan* plan);
/* The name of the backend that runs; lives as the plan. */
const char* headwise_plan_backend(const headwise_plan* plan);
void headwise_plan_free(headwise_plan* plan);

/* Binds one layer's K and V, laid out as the plan's steps are. The caller frees *binding. */
headwise_status headwise_bind(const headwise_plan* plan, const headwise_kv* kv,
                              headwise_binding** binding);
void headwise_binding_free(headwise_binding* binding);

/* Checks the arguments (O(1)) and runs the plan's step. */
headwise_status headwise_run(headwise_plan* plan, const headwise_args* args);

/* Writes a step's new K and V into one layer's cache, as the plan's backend reads it. Of the step,
 * lengths, layout, tables and starts are looked at; it need not be the plan's. */
headwise_status headwise_append_kv(const headwise_plan* plan, const headwise_step* step,
                                   const headwise_kv* cache, const headwise_append* append);

/* merge.h; `outs` and `lses` have `parts` entries; `sinks` and `lse` may be null. */
headwise_status headwise_merge(int64_t parts, const headwise_tensor* outs,
                               const headwise_tensor* lses, const float* sinks,
                               const headwise_tensor* out, const headwise_tensor* lse);

#ifdef __cplusplus
}
#endif

#endif
