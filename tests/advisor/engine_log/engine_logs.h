#pragma once

#include <string>

namespace headwise::logs {

// Logs of one start each, in the engines' own words.

inline std::string vllm(const std::string& version, const std::string& config,
                        const std::string& backend) {
  return "(APIServer pid=1) INFO 08-21 12:00:00 [api_server.py:1896] vLLM API server version " +
         version +
         "\n(APIServer pid=1) INFO 08-21 12:00:00 [utils.py:233] non-default args: {'seed': 1}\n"
         "(EngineCore pid=2) INFO 08-21 12:00:01 [core.py:76] Initializing a V1 LLM engine (v" +
         version + ") with config: " + config +
         "\n(EngineCore pid=2) INFO 08-21 12:00:02 [cuda.py:448] " + backend + "\n";
}

inline std::string sglang(const std::string& arguments, const std::string& backend) {
  return "[2025-05-02 15:00:00] server_args=ServerArgs(" + arguments +
         ", attention_backend=None)\n[2025-05-02 15:00:01 TP0] Attention backend not set. Use " +
         backend + " backend by default.\n";
}

inline std::string tensorrt_llm(const std::string& arguments) {
  return "[TensorRT-LLM] TensorRT LLM version: 1.2.0\n"
         "[08/21/2025-12:00:00] [TRT-LLM] [I] Using LLM with PyTorch backend\n"
         "[TensorRT-LLM][INFO] Number of tokens per block: 32.\n"
         "[08/21/2025-12:00:09] [TRT-LLM] [I] LLM Args:\n"
         "model='a/b' " +
         arguments + " attn_backend='TRTLLM'\n";
}

}  // namespace headwise::logs
