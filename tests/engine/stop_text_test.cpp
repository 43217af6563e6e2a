#include "engine/stop_text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace headwise {
namespace {

/// What comes of `text`, given in pieces of `size` characters.
std::string through(const std::string& stop, const std::string& text, std::size_t size,
                    bool& found) {
  StopText filter(stop);
  std::string said;
  for (std::size_t i = 0; i < text.size() && !filter.found(); i += size)
    said += filter.push(text.substr(i, size));
  said += filter.finish();
  found = filter.found();
  return said;
}

TEST(StopText, LetsThroughWhatComesBeforeHoweverItIsCut) {
  struct Case {
    std::string stop, text, said;
    bool found;
  };
  const Case cases[] = {{"\n", " one line\nanother", " one line", true},
                        {"END", "before ENEND after", "before EN", true},
                        {"aab", "aaab", "a", true},
                        {"aab", "aaaa", "aaaa", false},
                        {"END", "to the EN", "to the EN", false},
                        {"x", "x", "", true},
                        {"", "all of it", "all of it", false},
                        {"abc", "", "", false}};
  for (const Case& c : cases) {
    for (const std::size_t size : {1, 2, 3, 5, 100}) {
      bool found = false;
      EXPECT_EQ(through(c.stop, c.text, size, found), c.said) << c.stop << " in " << c.text;
      EXPECT_EQ(found, c.found) << c.stop << " in " << c.text;
    }
  }
}

TEST(StopText, HoldsBackNoMoreThanItMust) {
  StopText filter("END");
  EXPECT_EQ(filter.push("the E"), "the ");
  EXPECT_EQ(filter.push("ast"), "East");
  EXPECT_EQ(filter.push("EN"), "");
  EXPECT_EQ(filter.push("D more"), "");
  EXPECT_TRUE(filter.found());
  EXPECT_EQ(filter.push("nothing comes behind"), "");
}

}  // namespace
}  // namespace headwise
