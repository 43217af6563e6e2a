#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "headwise/error.h"
#include "headwise/kv_cache.h"
#include "tests/kv/known_prefixes.h"
#include "tests/kv/page_content.h"

namespace headwise {

/// A small cache: where pages are few, all that can happen happens soon.
struct CacheSetup {
  struct Group {
    int pages = 1;
    int window = -1;
    int slack = 0;
    int layers = 1;
  };

  std::vector<Group> groups = {Group{}};
  int page_size = 1;
  int max_sequences = 1;
  int max_requests = 1;
  int max_tokens = 1;
  int min_partial = 1;
  bool prefix_cache = false;

  KvCacheOptions options() const;
};

std::ostream& operator<<(std::ostream& out, const CacheSetup& setup);

/// Something that is done to a cache. What a ... d mean depends on it: they choose sequences,
/// numbers of tokens, and tokens, so that every value is one that can be done; 0 is the simplest.
struct CacheOp {
  enum class Kind : std::uint8_t {
    create,
    create_with_prompt,
    fork,
    begin,
    commit,
    commit_some,
    rollback,
    drop_step,
    truncate,
    free,
    clear_prefixes,
    misuse,
  };

  Kind kind = Kind::create;
  std::uint32_t a = 0, b = 0, c = 0, d = 0;
};

std::ostream& operator<<(std::ostream& out, const CacheOp& op);

/// The cache did something else than the model.
class Difference : public std::logic_error {
  using std::logic_error::logic_error;
};

/// A cache, and beside it what it should hold in the simplest form: of each sequence the tokens.
/// Operations are done to both; all that a caller can see is compared after each.
class CacheModel {
 public:
  explicit CacheModel(const CacheSetup& setup);
  ~CacheModel();

  void apply(const CacheOp& op);

  /// Ends all sequences and forgets all prefixes: every page must be free then.
  void finish();

 private:
  using Tables = std::vector<Tokens>;  // of a sequence, by group

  struct Twin {
    SequenceId id;
    Tokens tokens;
    PrefixKey key;
    std::vector<std::uint64_t> hashes;  // of the tokens
    Tables tables;
    bool in_step = false;
  };
  struct Request {
    Twin* twin;
    int new_tokens;
    Tokens tokens;  // the sequence's, with the new ones
    bool told;
    Tables before;
  };
  /// Tokens of a cached page, as a sequence wrote them.
  struct Filled {
    Tokens tokens;
    std::vector<std::uint64_t> hashes;
  };

  // Operations: cache_model.cpp and cache_model_steps.cpp.
  void create(const CacheOp& op);
  void create_with_prompt(const CacheOp& op);
  void take_hit(const PrefixHit& hit, const Tokens& prompt, const PrefixKey& key);
  void fork(const CacheOp& op);
  void truncate(const CacheOp& op);
  bool can_cut(const Twin& twin, int length) const;
  void free(const CacheOp& op);
  void clear_prefixes();
  void misuse(const CacheOp& op);
  void begin(const CacheOp& op);
  std::vector<Request> requests_of(const CacheOp& op) const;
  bool is_well_formed(const std::vector<Request>& requests) const;
  std::vector<int> pages_needed(const std::vector<Request>& requests) const;
  bool has_room(const std::vector<int>& needed) const;
  void began(std::vector<Request> requests, bool had_free);
  void note_copies(const Request& request);
  void write_new_tokens();
  void end_step(const CacheOp& op);
  void committed(Request& request, int accepted);
  void note_filled(const Request& request);
  void close();

  // Checks: cache_model_check.cpp.
  void check();
  void check_sequence(const Twin& twin);
  void check_step();
  void check_prefixes(int group);
  void check_pages(int group);
  void check_counters();
  /// The call throws one of these and changes nothing.
  void expect_error(std::initializer_list<ErrorCode> codes, const std::function<void()>& call,
                    const std::string& text = "");
  /// How often sequences and the open step hold each page of a group.
  std::vector<int> holders(int group) const;
  bool is_cached(int group, std::int32_t page) const;
  std::int64_t free_pages(int group) const;

  std::size_t groups() const { return setup_.groups.size(); }
  int pages_of(std::size_t tokens) const;
  Tables tables_of(SequenceId id) const;
  Twin& pick(std::uint32_t number);
  Twin& add(SequenceId id, Tokens tokens, PrefixKey key);
  void remember(const Twin& twin);

  CacheSetup setup_;
  KvCache cache_;
  PageContent content_;
  std::vector<std::unique_ptr<Twin>> twins_;
  std::vector<Twin> past_;         // ended sequences, whose prompts come again
  std::vector<SequenceId> ended_;  // and their ids
  KnownPrefixes known_;
  std::vector<std::vector<Filled>> filled_;  // by group and page
  KvCounters counters_;                      // those that the model knows
  bool may_evict_ = false;                   // in the operation under way
  bool all_known_is_there_ = true;           // nothing was evicted since prefixes were cleared
  bool has_windows_ = false;

  KvStep step_;
  std::vector<Request> requests_;
  std::vector<std::pair<int, std::int32_t>> originals_;  // group and page that the step copied
};

}  // namespace headwise
