// SPDX-License-Identifier: MIT
// Who may see the dashboard, decided from a request's head alone.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tandem::serve {

/// The parts of a request that decide.
struct Head {
  std::string method = "GET";
  std::string host = {};           // the header
  std::string cookie = {};         // the header
  std::string authorization = {};  // the header
};

struct Refusal {
  int status = 403;
  std::string why;
};

/// Whether the address reaches this machine alone.
bool is_loopback(std::string_view address);

class Guard {
 public:
  /// Without a token only requests to a name of this machine pass: another name in the Host header
  /// is a page elsewhere whose name was made to point here. With a token, whoever has it passes.
  Guard(int port, std::string token) : port_(port), token_(std::move(token)) {}

  /// None: it may pass.
  std::optional<Refusal> check(const Head& head) const;
  /// Whether it is the token; takes the same time for all texts of its length.
  bool is_token(std::string_view text) const;
  bool has_token() const { return !token_.empty(); }
  /// The header that makes a browser keep the token, for this site and away from scripts.
  std::string cookie() const;

 private:
  int port_;
  std::string token_;
};

}  // namespace tandem::serve
