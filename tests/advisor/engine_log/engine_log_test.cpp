#include "advisor/engine_log/engine_log.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "headwise/error.h"
#include "tests/advisor/engine_log/engine_logs.h"

namespace headwise {
namespace {

EngineLog read(const std::string& text) {
  std::istringstream log(text);
  return read_engine_log(log);
}

std::string value(const EngineLog& log, LogTopic topic) {
  const LoggedValue* fact = log.find(topic);
  return fact == nullptr ? "" : fact->value;
}

std::string error_of(const std::string& text) {
  try {
    read(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

const std::string kVllmCuda = "INFO 08-21 12:00:00 [cuda.py:293] ";

using Topic = LogTopic;

TEST(EngineLog, APrintOfArgumentsMayFollowOnTheNextLine) {
  const EngineLog log = read(
      "[12/20/2025-04:20:19] [TRT-LLM] [I] LLM Args:\n"
      "model='a b' tokenizer=None load_format=<LoadFormat.AUTO: 0> tensor_parallel_size=8 "
      "kv_cache_config=KvCacheConfig(enable_block_reuse=True, dtype='fp8', tokens_per_block=64) "
      "speculative_config=Eagle(attn_backend='VANILLA', dtype='int8') attn_backend='TRTLLM' "
      "enable_attention_dp=True\n"
      "attn_backend='VANILLA' tensor_parallel_size=2\n");
  EXPECT_EQ(value(log, Topic::model), "a b");
  EXPECT_EQ(value(log, Topic::tensor_parallel), "8");
  EXPECT_EQ(value(log, Topic::kv_type), "fp8");
  EXPECT_EQ(value(log, Topic::page_size), "64");
  EXPECT_EQ(value(log, Topic::backend), "TRTLLM");
  EXPECT_EQ(value(log, Topic::attention_dp), "True");
  EXPECT_EQ(log.find(Topic::backend)->line, 2);
}

// None of these says what the language model's attention runs on.
void expect_no_backend(const std::string& start, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    const EngineLog log = read(start + line + "\n");
    EXPECT_EQ(value(log, Topic::backend), "") << line;
    EXPECT_EQ(value(log, Topic::prefill_backend), "") << line;
    EXPECT_EQ(log.starts, 1) << line;
  }
}

TEST(EngineLog, WhatLooksLikeVllmsWordsIsNot) {
  expect_no_backend(
      "INFO 08-21 11:00:00 [api_server.py:1] vLLM API server version 0.10.2\n",
      {// prompts: quoted in a line; as lines of their own, behind the logger's header or without
       "INFO 08-21 12:00:00 [logger.py:41] Received request cmpl-1: prompt: 'INFO 08-21 12:00:00 "
       "[cuda.py:221] Using Triton backend on V1 engine.', params: SamplingParams(n=1)",
       "INFO 08-21 12:00:00 [logger.py:41] Using Triton backend on V1 engine.",
       "INFO 08-21 12:00:00 [request_logger.py:9] Using TRITON_ATTN backend.",
       "Using Triton backend on V1 engine.", "said: " + kVllmCuda + "Using TRITON_ATTN backend.",
       // other backends' names in warnings
       kVllmCuda + "Cannot use FlashAttention-2 backend for Volta and Turing GPUs.",
       kVllmCuda + "FlashMLA backend is not supported for block size 16",
       kVllmCuda + "Using FlashInfer backend is recommended.",
       // encoders of images, sampling, experts, transport
       kVllmCuda + "Using backend AttentionBackendEnum.TORCH_SDPA for vit attention",
       "INFO 08-21 12:00:00 [mm_encoder_attention.py:231] Using AttentionBackendEnum.TRITON_ATTN "
       "for MMEncoderAttention.",
       "INFO 08-21 12:00:00 [topk_topp_sampler.py:55] Using FlashInfer for top-p & top-k sampling.",
       kVllmCuda + "Using 'VLLM_CUTLASS' NvFp4 MoE backend out of potential backends: ['MARLIN'].",
       "INFO 08-21 12:00:00 [parallel_state.py:5] Using mp backend.",
       // a request for a backend, and strings that hold one
       "INFO 08-21 12:00:00 [utils.py:233] non-default args: {'attention_backend': 'TRITON_ATTN', "
       "'chat_template': \"'backend': 'x', attn_backend='y'\"}"});
}

TEST(EngineLog, WhatLooksLikeSglangsWordsIsNot) {
  expect_no_backend(
      "[2025-05-02 15:00:00] server_args=ServerArgs(chat_template='it\\'s attention_backend=x', "
      "attention_backend=None, draft=Draft(attention_backend='triton'))\n",
      {"[2025-05-02 16:13:41] Receive: obj=GenerateReqInput(text='Attention backend not set. Use "
       "triton backend by default.')",
       "user: [2025-05-02 16:13:41] Attention backend not set. Use triton backend by default.",
       "[2025-05-02 16:13:41 TP0] Multimodal attention backend not set. Use triton_attn.",
       "[2025-05-02 16:13:41 TP0] Using triton_attn as multimodal attention backend.",
       "[2025-05-02 16:13:41 TP0] Use flashinfer_trtllm as MoE runner backend on sm100 for X"});
}

TEST(EngineLog, WhatLooksLikeTensorrtLlmsWordsIsNot) {
  expect_no_backend("[12/20/2025-04:00:00] [TRT-LLM] [I] Using LLM with PyTorch backend\n",
                    {"[12/20/2025-04:20:19] [TRT-LLM] [I] Set attn_backend='TRTLLM' yourself",
                     "PyTorchConfig(attn_backend='TRTLLM')",
                     "[12/20/2025-04:20:19] [TRT-LLM] [I] "
                     "PyTorchConfig(sampler=Sampler(attn_backend='X'), moe_backend='CUTLASS')",
                     "[12/20/2025-04:20:19] INFO PyTorchConfig(attn_backend='TRTLLM')",
                     "[12/20/2025-04:20:19] [TRT-LLM] [W] Disabling block reuse for MTP",
                     "[12/20/2025-04:20:19] [TRT-LLM] [I] Use Change tokens_per_block to: 64 for "
                     "using FlashMLA",
                     "[12/20/2025-04:20:19] [TRT-LLM AUTO-TUNE] [W] Disabling block reuse for "
                     "FLASHINFER backend"});
  for (const char* line :
       {"[TensorRT-LLM][INFO] [MemUsageChange] Allocated 43.29 MB GPU memory for runtime buffers.",
        "[TensorRT-LLM][INFO] [MemUsageChange] Allocated 928.77 MiB for execution context memory.",
        "[MemUsageChange] Allocated 41.11 GiB for max tokens in paged KV cache (524288)",
        "[TensorRT-LLM][INFO] Loaded engine size: 6214 MiB, kv size is 5",
        "[TensorRT-LLM][INFO] No engine version found in the config file, assuming engine(s) built "
        "by old builder API.",
        "[12/20/2025-04:20:19] [TRT-LLM] [I] Set nccl_plugin to bfloat16.",
        "[12/20/2025-04:20:19] [TRT-LLM] [I] Prompt: Fall back to unfused MHA in sm_90"}) {
    const EngineLog log =
        read(std::string("[12/20/2025-04:00:00] [TRT-LLM] [I] Using LLM with TensorRT backend\n") +
             line + "\n");
    EXPECT_TRUE(log.facts.empty()) << line;
    EXPECT_TRUE(log.passed_over.empty()) << line;
  }
}

TEST(EngineLog, TensorrtLlmSaysWhatItHasNoKernelFor) {
  const EngineLog log = read(
      "[12/20/2025-04:00:00] [TRT-LLM] [I] Using LLM with PyTorch backend\n"
      "[TensorRT-LLM][WARNING] Fall back to unfused MHA for bf16, headSize = 72 in sm_100.\n"
      "[TensorRT-LLM][WARNING] Fall back to unfused MHA because of unsupported data type.\n");
  ASSERT_EQ(log.passed_over.size(), 1U);
  EXPECT_EQ(log.passed_over[0].line, 2);
  ASSERT_EQ(log.costly_settings.size(), 1U);
  EXPECT_EQ(log.costly_settings[0].line, 3);
}

TEST(EngineLog, RecordsAreFoundBehindWhatCarriesLogs) {
  const std::string record = kVllmCuda + "Using TRITON_ATTN backend.";
  for (const std::string carrier :
       {"2025-08-21T12:00:00.123456789Z ", "2025-08-21T12:00:00.1+02:00 stderr F ", "vllm-1  | ",
        "[pod/vllm-0/server] ", "Aug 21 12:00:00 host-1 vllm[123]: ", "[1,0]<stdout>:", " 0: ",
        "(RayWorker pid=7, ip=10.0.0.1) ", "\x1b[36m(Worker_TP3 pid=8)\x1b[0;0m "})
    EXPECT_EQ(value(read(carrier + record), Topic::backend), "TRITON_ATTN") << carrier;
  EXPECT_NE(error_of("said: " + record), "");
}

TEST(EngineLog, CarriageReturnsNulsAndColoursDoNoHarm) {
  const std::string record = kVllmCuda + "Using TRITON_ATTN backend.";
  EXPECT_EQ(value(read(record + "\r\n"), Topic::backend), "TRITON_ATTN");
  const EngineLog log =
      read("x\n" + std::string(40, '\0') + "\nLoading: 1%\rLoading: 2%\r" + record + "\n");
  EXPECT_EQ(log.find(Topic::backend)->line, 3);
  EXPECT_EQ(value(read("\x1b[32mINFO\x1b[0m 08-21 12:00:00 [cuda.py:1] Using X\x07Y backend."),
                  Topic::backend),
            "X?Y");
}

TEST(EngineLog, TheLastStartCounts) {
  const EngineLog log = read(
      logs::vllm("0.10.2", "model='old', tensor_parallel_size=8",
                 "Using Triton backend on V1 engine.") +
      logs::vllm("0.11.2", "model='new', tensor_parallel_size=2", "Using FLASH_ATTN backend."));
  EXPECT_EQ(log.starts, 2);
  EXPECT_EQ(log.start_line, 5);
  EXPECT_EQ(value(log, Topic::version), "0.11.2");
  EXPECT_EQ(value(log, Topic::model), "new");
  EXPECT_EQ(value(log, Topic::backend), "FLASH_ATTN");
  EXPECT_TRUE(log.other_backends.empty());
}

TEST(EngineLog, AStartInWhichLessWasLoggedInheritsNothing) {
  const EngineLog log =
      read(logs::vllm("0.10.2", "model='old', kv_cache_dtype=fp8", "Using X backend.") +
           "INFO 08-22 12:00:00 [api_server.py:1] vLLM API server version 0.10.2\n");
  EXPECT_EQ(log.starts, 2);
  EXPECT_EQ(value(log, Topic::kv_type), "");
  EXPECT_EQ(value(log, Topic::backend), "");
}

TEST(EngineLog, WorkersThatRepeatEachOtherAreOneStart) {
  std::string text;
  for (const char* process : {"EngineCore_DP0", "EngineCore_DP1", "EngineCore_DP2"}) {
    std::string header("(");
    header.append(process).append(" pid=1) INFO 08-21 12:00:00 ");
    text += header + "[core.py:76] Initializing a V1 LLM engine (v0.10.2) with config: model='m'\n";
    text += header + "[cuda.py:362] Using Flash Attention backend on V1 engine.\n";
  }
  const EngineLog log = read(text);
  EXPECT_EQ(log.starts, 1);
  EXPECT_EQ(log.find(Topic::backend)->line, 2);
  EXPECT_TRUE(log.other_backends.empty());
}

// SGLang 0.5.9 and 0.5.20, entrypoints/engine.py: by Engine, and again as it launches processes.
TEST(EngineLog, ArgumentsThatArePrintedTwiceAreOneStart) {
  const std::string once =
      "[2025-05-02 15:00:00] server_args=ServerArgs(tp_size=2, random_seed=7)\n";
  const std::string other =
      "[2025-05-02 15:00:00] server_args=ServerArgs(tp_size=2, random_seed=8)\n";
  EXPECT_EQ(read(once + once).starts, 1);
  EXPECT_EQ(read(once + once + other + other).starts, 2);
}

TEST(EngineLog, OfSeveralEnginesTheLastToStartCounts) {
  const std::string vllm = logs::vllm("0.11.2", "model='m'", "Using FLASH_ATTN backend.");
  const std::string sglang = logs::sglang("model_path='n'", "fa3");
  EXPECT_EQ(read(vllm + sglang).engine, ServingEngine::sglang);
  const EngineLog log = read(sglang + vllm);
  EXPECT_EQ(log.engine, ServingEngine::vllm);
  EXPECT_EQ(log.other_engines, std::vector{ServingEngine::sglang});
  EXPECT_EQ(value(log, Topic::model), "m");
}

TEST(EngineLog, ADraftModelsBackendIsNotTheModels) {
  const EngineLog log =
      read(logs::vllm("0.19.0", "model='m'", "Using FLASH_ATTN backend.") +
           "INFO 08-21 12:00:00 [gpu_model_runner.py:5] Loading drafter model...\n" + kVllmCuda +
           "Using TRITON_ATTN backend.\n");
  EXPECT_EQ(value(log, Topic::backend), "FLASH_ATTN");
  EXPECT_TRUE(log.other_backends.empty());
}

TEST(EngineLog, OtherLayersBackendsAreKeptBeside) {
  const EngineLog log = read(logs::vllm("0.19.0", "model='m'", "Using FLASH_ATTN backend.") +
                             kVllmCuda + "Using TRITON_ATTN backend.\n");
  ASSERT_EQ(log.other_backends.size(), 1U);
  EXPECT_EQ(log.other_backends[0].value, "TRITON_ATTN");
  EXPECT_EQ(log.other_backends[0].line, 5);
}

TEST(EngineLog, AutoGivesWayToWhatWasChosen) {
  const EngineLog log = read(logs::sglang("kv_cache_dtype='auto'", "fa3") +
                             "[2025-05-02 16:13:41 TP0] Using KV cache dtype: torch.bfloat16\n");
  EXPECT_EQ(value(log, Topic::kv_type), "bfloat16");
}

TEST(EngineLog, NoEngineIsAnError) {
  EXPECT_EQ(error_of("hello\n"),
            "no start of vLLM, SGLang or TensorRT-LLM is recognised in the log");
  EXPECT_NE(error_of(""), "");
  EXPECT_EQ(error_of(std::string("\xff\xfeI\0N\0F\0O\0", 10)),
            "the log is UTF-16; convert it to UTF-8 first");
  EXPECT_EQ(error_of(std::string("I\0N\0F\0O\0 \0a\0b\0c\0d\0", 18)),
            "the log is UTF-16; convert it to UTF-8 first");
}

TEST(EngineLog, OfLongLinesTheBeginningIsRead) {
  const std::string record = kVllmCuda + "Using TRITON_ATTN backend.";
  const EngineLog log = read(std::string(3 << 20, 'x') + "\n" + record + "\n" + kVllmCuda +
                             "Using " + std::string(1 << 20, 'y') + " backend.\n");
  EXPECT_EQ(value(log, Topic::backend), "TRITON_ATTN");
  EXPECT_EQ(log.lines, 3);
}

/// Reads `text`, which may be refused; the time that it took, in seconds.
double seconds_to_read(const std::string& text) {
  const auto begin = std::chrono::steady_clock::now();
  try {
    read(text);
  } catch (const Error&) {
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

TEST(EngineLog, WhateverIsCutOffOrRandomIsReadQuickly) {
  std::mt19937 random(20250821);
  const std::string whole =
      logs::vllm("0.19.0", "model='m', x={'a': [1, (2, <3>)]}, kv_cache_dtype=fp8",
                 "Using FLASH_ATTN backend.") +
      logs::sglang("model_path='n', chat=\"it's\"", "fa3") + logs::tensorrt_llm("dtype='fp8'");
  for (int i = 0; i < 2000; ++i) {
    std::string text = whole.substr(random() % whole.size());
    text.resize(text.size() - random() % text.size());
    for (int change = 0; change < 8; ++change)
      if (!text.empty()) text[random() % text.size()] = static_cast<char>(random());
    EXPECT_LT(seconds_to_read(text), 1.0);
  }
  std::string noise(4 << 20, '\0');
  for (char& c : noise) c = static_cast<char>(random());
  EXPECT_LT(seconds_to_read(noise), 5.0);
}

TEST(EngineLog, NothingMakesAPrintOfFieldsSlow) {
  const std::string begin = "[2025-05-02 15:00:00] server_args=ServerArgs(";
  for (const char* unit : {"((((", "a=", "a= ", "'", "\\'", " b", "a='x' ", "a=<,", ")"}) {
    std::string text = begin;
    while (text.size() < (1U << 18)) text += unit;
    EXPECT_LT(seconds_to_read(text), 2.0) << unit;
  }
}

}  // namespace
}  // namespace headwise
