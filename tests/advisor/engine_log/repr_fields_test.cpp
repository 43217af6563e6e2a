#include "advisor/engine_log/repr_fields.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace headwise {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

Fields fields_of(std::string_view text) {
  Fields fields;
  for_each_repr_field(text, [&](std::string_view name, std::string_view value) {
    fields.emplace_back(name, value);
  });
  return fields;
}

TEST(ReprFields, OfDataClassesDictionariesAndPydanticModels) {
  EXPECT_EQ(fields_of("a='x', b=8, c=None)"), (Fields{{"a", "x"}, {"b", "8"}, {"c", "None"}}));
  EXPECT_EQ(fields_of("'a': 'x', 'b': [1, 2]}"), (Fields{{"a", "x"}, {"b", "[1, 2]"}}));
  EXPECT_EQ(fields_of("a='x y' b=<E.X: 0> c=In(d=1, e=2) f=3"),
            (Fields{{"a", "x y"}, {"b", "<E.X: 0>"}, {"c", "In(d=1, e=2)"}, {"f", "3"}}));
}

TEST(ReprFields, StringsArePassedOverWhole) {
  EXPECT_EQ(fields_of(R"(a='it\'s, b=1', c="d='2', e")"),
            (Fields{{"a", R"(it\'s, b=1)"}, {"c", "d='2', e"}}));
}

TEST(ReprFields, EndWithTheObjectOrWithTheText) {
  EXPECT_EQ(fields_of("a=1) b=2"), (Fields{{"a", "1"}}));
  EXPECT_EQ(fields_of("a=(1, 2"), (Fields{{"a", "(1, 2"}}));
  EXPECT_EQ(fields_of("a='1, b=2"), (Fields{{"a", "'1, b=2"}}));
  EXPECT_EQ(fields_of("no fields"), Fields{});
  EXPECT_EQ(fields_of(""), Fields{});
}

}  // namespace
}  // namespace headwise
