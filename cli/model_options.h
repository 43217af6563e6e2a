#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "engine/runner.h"

namespace headwise::cli {

/// What commands that run a model take, as it is typed.
struct ModelFlags {
  std::string model;
  std::string max_new = "256";
  std::string chunk = "512";
  std::string kv_type;
  std::string backend;
  std::string maths;
  int threads = 0;
  SamplingOptions sampling;
  std::string stop;
  bool check = false;
};

void add_model_options(CLI::App& command, ModelFlags& flags);

/// An element type of K and V; f8 is f8e4m3. Throws Error that names what it is not.
DType kv_type_option(const std::string& text);

/// How the model is to be opened.
ModelOptions read_model_options(const ModelFlags& flags);

/// The options without a prompt. Throws what the command line is told, before a model is loaded.
GenerateOptions read_options(const ModelFlags& flags);

/// A file's bytes; "-" is standard input. Throws Error that names the file.
std::string read_text(const std::string& path);

}  // namespace headwise::cli
