#include "advisor/advice/plan_name.h"

#include <gtest/gtest.h>

#include "headwise/error.h"

namespace headwise {
namespace {

TEST(PlanNames, SayWhatIsSplit) {
  EXPECT_EQ(plan_name({}), "TP1");
  EXPECT_EQ(plan_name({.tp = 8, .tp_ff = 8}), "TP8");
  EXPECT_EQ(plan_name({.tp = 8, .tp_ff = 8, .ep = 8}), "TP8/EP8");
  EXPECT_EQ(plan_name({.adp = 8, .ep = 8}), "ADP8/EP8");
  EXPECT_EQ(plan_name({.adp = 8, .tp_ff = 8}), "ADP8/TPFF8");
  EXPECT_EQ(plan_name({.tp = 2, .adp = 3, .kvp = 4, .tp_ff = 8, .ep = 6, .pp = 5}),
            "TP2/ADP3/KVP4/EP6/PP5");
}

TEST(PlanNames, AreReadAgain) {
  for (const char* name :
       {"TP1", "TP8", "TP8/EP8", "ADP8/EP8", "ADP8/TPFF8", "TP2/KVP4", "TP2/ADP3/KVP4/EP6/PP5"})
    EXPECT_EQ(plan_name(parse_plan(name, {})), name);
  for (const char* name : {"tp8ep8", "TP8,EP8", "ep8-tp8", " Tp8_eP8 "})
    EXPECT_EQ(plan_name(parse_plan(name, {})), "TP8/EP8") << name;
}

TEST(PlanNames, TakeTypesAndNoWidths) {
  const Deployment types{.kv_type = DType::f8e4m3, .tp = 5, .tp_ff = 3, .ep = 7};
  const Deployment plan = parse_plan("kvp2", types);
  EXPECT_EQ(plan.kv_type, DType::f8e4m3);
  EXPECT_EQ(plan.devices(), 2);
  EXPECT_EQ(plan.tp_ff, 2);
  EXPECT_EQ(plan.ep, 1);
}

TEST(PlanNames, MistakesAreQuoted) {
  const std::pair<const char*, const char*> mistakes[] = {
      {"", "no parts"},
      {" / ", "no parts"},
      {"8", "\"8\" is none of TP"},
      {"tq8", "\"TQ\" is none of TP"},
      {"tp", "TP needs a number"},
      {"tp0", "TP needs a number"},
      {"tp-8", "TP needs a number"},
      {"tp4097", "TP needs a number"},
      {"tp99999999999999999999", "TP needs a number"},
      {"tp8tp8", "TP stands there twice"},
      {"tp8 ep8!", "\"!\" is none of TP"},
      {"tp4096pp4096adp4096", "more than 4096 devices"},
      {"tp64adp65", "more than 4096 devices"}};
  for (const auto& [text, words] : mistakes) try {
      parse_plan(text, {});
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
}

}  // namespace
}  // namespace headwise
