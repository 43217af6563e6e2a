#include "advisor/device/efficiency.h"

#include <array>

#include "advisor/device/data_folders.h"
#include "core/check.h"
#include "model/json/json_fields.h"
#include "model/json/json_text.h"

namespace headwise {
namespace {

struct Field {
  const char* name;
  Efficiency Efficiencies::*efficiency;
  double most;
};
constexpr double kMostMicroseconds = 1000.0;
constexpr double kMostKeys = 65536.0;
constexpr std::array kFields{
    Field{"attention_products", &Efficiencies::attention_products, 1.0},
    Field{"attention_exponentials", &Efficiencies::attention_exponentials, 1.0},
    Field{"attention_read", &Efficiencies::attention_read, 1.0},
    Field{"latent_prefill_products", &Efficiencies::latent_prefill_products, 1.0},
    Field{"latent_decode_products", &Efficiencies::latent_decode_products, 1.0},
    Field{"latent_read", &Efficiencies::latent_read, 1.0},
    Field{"products", &Efficiencies::products, 1.0},
    Field{"product_read", &Efficiencies::product_read, 1.0},
    Field{"experts_products", &Efficiencies::experts_products, 1.0},
    Field{"experts_balance", &Efficiencies::experts_balance, 1.0},
    Field{"window_keys", &Efficiencies::window_keys, kMostKeys},
    Field{"link", &Efficiencies::link, 1.0},
    Field{"exchange_us", &Efficiencies::exchange_us, kMostMicroseconds},
    Field{"kernel_us", &Efficiencies::kernel_us, kMostMicroseconds},
};

Efficiency read_one(JsonFields fields, double most) {
  Efficiency efficiency{.value = fields.number("value", 0.0),
                        .error = fields.number("error", 0.0),
                        .origin = fields.string("origin")};
  check(efficiency.value > 0.0 && efficiency.value <= most, "field ", fields.full("value"),
        " is not above 0 and at most ", most);
  fields.refuse_others();
  return efficiency;
}

Efficiencies read_fields(const nlohmann::json& json) {
  JsonFields fields(json);
  fields.string("name");
  fields.string_or("note", "");
  Efficiencies efficiencies;
  for (const Field& field : kFields)
    efficiencies.*field.efficiency = read_one(fields.object(field.name), field.most);
  fields.refuse_others();
  return efficiencies;
}

}  // namespace

Efficiencies read_efficiencies(const std::filesystem::path& file) {
  constexpr std::size_t kLongest = 1 << 20;
  return with_name(file.string(), [&] {
    Efficiencies efficiencies = read_fields(parse_json(read_text(file, kLongest)));
    efficiencies.file = file;
    return efficiencies;
  });
}

Efficiencies default_efficiencies() {
  for (const std::filesystem::path& file : data_files(data_folders("efficiency")))
    if (file.stem() == "default") return read_efficiencies(file);
  throw Error(ErrorCode::invalid_input, "data/efficiency/default.json is missing");
}

}  // namespace headwise
