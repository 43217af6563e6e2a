#include "advisor/device/efficiency.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "headwise/error.h"
#include "tests/advisor/device/written_file.h"

namespace headwise {
namespace {

nlohmann::json shipped() {
  std::ifstream file(default_efficiencies().file);
  return nlohmann::json::parse(file);
}

std::string error_of(const nlohmann::json& json) {
  try {
    const WrittenFile file("own.json", json.dump());
    read_efficiencies(file.path());
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(Efficiencies, ComeWithOrigins) {
  const Efficiencies efficiencies = default_efficiencies();
  for (const Efficiency* each :
       {&efficiencies.attention_products, &efficiencies.latent_decode_products,
        &efficiencies.product_read, &efficiencies.experts_products, &efficiencies.link}) {
    EXPECT_FALSE(each->origin.empty());
    EXPECT_GT(each->error, 0.2);  // what is assumed is not known well
  }
  EXPECT_EQ(error_of(shipped()), "");
}

TEST(Efficiencies, MistakesNameTheField) {
  const auto with = [](const char* field, const nlohmann::json& value) {
    nlohmann::json json = shipped();
    json[field] = value;
    return error_of(json);
  };
  nlohmann::json missing = shipped();
  missing.erase("link");
  const std::pair<std::string, const char*> mistakes[] = {
      {error_of(missing), "link"},
      {with("products", 0.5), "products"},
      {with("products", {{"value", 1.5}, {"error", 0.1}, {"origin", "x"}}), "products"},
      {with("products", {{"value", 0.0}, {"error", 0.1}, {"origin", "x"}}), "products"},
      {with("products", {{"value", 0.5}, {"error", -1}, {"origin", "x"}}), "products"},
      {with("products", {{"value", 0.5}, {"error", 0.1}}), "origin"},
      {with("unheard_of", 1), "unheard_of"}};
  for (const auto& [error, field] : mistakes) {
    EXPECT_NE(error.find(field), std::string::npos) << error;
    EXPECT_NE(error.find("own.json"), std::string::npos) << error;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }
}

}  // namespace
}  // namespace headwise
