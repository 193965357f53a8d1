// SPDX-License-Identifier: MIT
// PostgreSQL's client library, loaded when a store wants it: neither the program nor the Python
// package depends on it. Names, numbers and types are those of libpq-fe.h, which have not changed
// since PostgreSQL 9.
#pragma once

namespace tandem::store {

struct Libpq {
  struct Connection;
  struct Result;
  struct Option {
    char* keyword;
    char* environment;
    char* compiled;
    char* value;
    char* label;
    char* display;
    int display_size;
  };
  using Oid = unsigned int;

  enum ConnectionStatus { kOk = 0 };
  enum ResultStatus { kCommandOk = 1, kTuplesOk = 2 };
  enum TransactionStatus { kIdle = 0 };
  static constexpr int kSqlState = 'C';
  static constexpr int kSeverity = 'V';
  static constexpr int kMessage = 'M';

  Option* (*parse)(const char* url, char** error);
  void (*free_options)(Option*);
  void (*free_memory)(void*);
  Connection* (*connect)(const char* const* keywords, const char* const* values, int expand);
  using Notice = void (*)(void*, const char*);
  Notice (*hear_notices)(Connection*, Notice, void*);
  void (*finish)(Connection*);
  int (*status)(const Connection*);
  int (*transaction_status)(const Connection*);
  const char* (*parameter_status)(const Connection*, const char* name);
  int (*server_version)(const Connection*);
  char* (*error_message)(const Connection*);
  Result* (*execute)(Connection*, const char* command, int parameters, const Oid* types,
                     const char* const* values, const int* lengths, const int* formats,
                     int result_format);
  int (*result_status)(const Result*);
  char* (*result_message)(const Result*);
  char* (*result_field)(const Result*, int field);
  char* (*command_status)(Result*);
  char* (*changed)(Result*);
  int (*rows)(const Result*);
  Oid (*type)(const Result*, int column);
  int (*is_null)(const Result*, int row, int column);
  int (*length)(const Result*, int row, int column);
  char* (*value)(const Result*, int row, int column);
  void (*clear)(Result*);
};

/// Throws StoreError where the library is not there, with the name of Debian's package.
const Libpq& libpq();

}  // namespace tandem::store
