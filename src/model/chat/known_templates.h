#pragma once

#include <cstdint>
#include <string_view>

namespace headwise {

struct KnownTemplate {
  std::uint64_t fingerprint;  ///< fingerprint_of_template of its source
  std::string_view format;    ///< what it writes
};

/// Templates whose output was compared with their format's (scripts/chat_templates/golden.py, which
/// prints these rows), and where they were found.
constexpr KnownTemplate kKnownTemplates[] = {
    {0x773d13e188afc917, "chatml"},          // chatml.jinja
    {0x88bf4138d5c826f0, "chatml"},          // llama-cpp-python CHATML_CHAT_TEMPLATE
    {0xfdaf3f6c284777cf, "chatml"},          // Qwen3-Coder.jinja
    {0x45ec583d4d25bc3a, "smollm2"},         // SmolLM2-135M-Instruct.Q4_1.gguf
    {0x71242f76359e71e8, "qwen2"},           // qwen2_vl.jinja
    {0xcd8801cc457f79b9, "qwen2"},           // xinference qwen1.5-chat
    {0x8a87094e0e1e24c5, "qwen2"},           // xinference codeqwen1.5-chat
    {0x0900cc6ecdd2ea6b, "qwen2"},           // xinference qwen2.5-coder-instruct
    {0xe0bbdfcf26a7725d, "qwen2"},           // xinference qwen2.5-instruct-1m
    {0x11d394755cef9355, "qwen2.5"},         // qwen_25.jinja
    {0xabb815b933a4981a, "qwen3"},           // Qwen-Qwen3-0.6B.jinja
    {0x0a95ac1b8f79e6d1, "llama2"},          // xinference llama-2-chat
    {0x43add126b757bab9, "llama2"},          // xinference llama-2-chat
    {0x58f97c63c2f8bd77, "llama3"},          // llama3.jinja
    {0x0e60067a5537498e, "llama3"},          // llama-cpp-python LLAMA3_INSTRUCT_CHAT_TEMPLATE
    {0x8f0102a196b350d5, "llama3"},          // xinference llama-3-instruct
    {0x4fd30286bc0da17c, "llama3.1"},        // meta-llama-Llama-3.1-8B-Instruct.jinja
    {0x1a6da26e3aef1b34, "llama3.1"},        // meta-llama-Llama-3.2-3B-Instruct.jinja
    {0xa245d6a5a7cadd4d, "mistral-v1"},      // mistral_v1.jinja
    {0xd99e5b4469be13b3, "mistral-v1"},      // llama.cpp test 21
    {0x5b50986a026d749b, "mistral-v1"},      // xinference mistral-instruct-v0.1
    {0x8c734b90b4f8d84d, "mistral-v1-old"},  // llama-cpp-python MIXTRAL_INSTRUCT_CHAT_TEMPLATE
    {0x38f57114cd82642d, "mistral-v3"},      // mistral_v2v3.jinja
    {0x09eb1999b1fcf65f, "mistral-v3"},      // llama.cpp test 22
    {0xaa3dd079fe9ad2ca, "mistral-v3"},      // xinference mistral-instruct-v0.3
    {0xc02909ad3ff278de, "mistral-tekken"},  // mistral_v3_tekken.jinja
    {0x1c5bb39e8ce47565, "mistral-tekken"},  // pixtral.jinja
    {0xf1784176fabceb43, "mistral-tekken"},  // mistralai-Mistral-Nemo-Instruct-2407.jinja
    {0xec840b3e8adb566a, "mistral-tekken"},  // xinference mistral-nemo-instruct
    {0x11e389fb3a2aad74, "gemma2"},          // gemma.jinja
    {0x5c10ee65212d93b3, "gemma2"},          // google-gemma-2-2b-it.jinja
    {0xcb3e9bb118802275, "gemma3"},          // gemma3.jinja
    {0x11ed3bbebdc13df7, "gemma3"},          // gemma3n.jinja
    {0xd19b6ff3a49deea5, "gemma3"},          // xinference gemma-3-1b-it
};

}  // namespace headwise
