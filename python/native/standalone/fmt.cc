// SPDX-License-Identifier: MIT
// libfmt, of which Debian has no static version: what our static libraries use of it. The library `tandem`
// has the rest inside.
#include <fmt/format-inl.h>

template auto fmt::detail::thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template auto fmt::detail::decimal_point_impl<char>(locale_ref) -> char;
