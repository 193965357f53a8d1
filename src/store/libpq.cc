// SPDX-License-Identifier: MIT
#include "store/libpq.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "store/store.h"

namespace tandem::store {
namespace {

Libpq load() {
  constexpr const char* kFile = "libpq.so.5";
  void* library = dlopen(kFile, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw StoreError(
        fmt::format("a store in PostgreSQL needs its client library, {}, which is not there ({}); "
                    "Debian's package is libpq5",
                    kFile, dlerror()));
  }
  Libpq api{};
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (function == nullptr) {
      throw StoreError(
          fmt::format("{} has no {}: expected PostgreSQL's client library, version 12 "
                      "or newer",
                      kFile, name));
    }
  };
  find(api.parse, "PQconninfoParse");
  find(api.free_options, "PQconninfoFree");
  find(api.free_memory, "PQfreemem");
  find(api.connect, "PQconnectdbParams");
  find(api.hear_notices, "PQsetNoticeProcessor");
  find(api.finish, "PQfinish");
  find(api.status, "PQstatus");
  find(api.transaction_status, "PQtransactionStatus");
  find(api.parameter_status, "PQparameterStatus");
  find(api.server_version, "PQserverVersion");
  find(api.error_message, "PQerrorMessage");
  find(api.execute, "PQexecParams");
  find(api.result_status, "PQresultStatus");
  find(api.result_message, "PQresultErrorMessage");
  find(api.result_field, "PQresultErrorField");
  find(api.command_status, "PQcmdStatus");
  find(api.changed, "PQcmdTuples");
  find(api.rows, "PQntuples");
  find(api.type, "PQftype");
  find(api.is_null, "PQgetisnull");
  find(api.length, "PQgetlength");
  find(api.value, "PQgetvalue");
  find(api.clear, "PQclear");
  return api;
}

}  // namespace

const Libpq& libpq() {
  static const Libpq kApi = load();
  return kApi;
}

}  // namespace tandem::store
