// SPDX-License-Identifier: MIT
#include "data/download.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <system_error>

#include "data/fail.h"

namespace tandem::data {
namespace {

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
  void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
};

class Transfer {
 public:
  explicit Transfer(const Download& request)
      : request_(request), file_(std::fopen(request.file.c_str(), "ab")) {
    static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
    if (ready != CURLE_OK) throw DownloadError("libcurl cannot start");
    curl_.reset(curl_easy_init());
    if (curl_ == nullptr) throw DownloadError("libcurl cannot start");
    if (file_ == nullptr)
      fail<DataError>(request.file.string(), "", std::strerror(errno), "to write a file");
    std::fseek(file_.get(), 0, SEEK_END);
    start_ = static_cast<std::uint64_t>(std::ftell(file_.get()));
    received_ = start_;
  }

  void run() {
    set_up();
    const CURLcode code = curl_easy_perform(curl_.get());
    long status = 0;
    curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &status);
    if (too_large_ || code == CURLE_FILESIZE_EXCEEDED) {
      fail<DataError>(request_.url, "", fmt::format("more than {} bytes", request_.most_bytes),
                      "a file within the limit of size");
    }
    if (write_error_ != 0) {
      fail<DataError>(request_.file.string(), at_byte(received_), std::strerror(write_error_),
                      "to write on");
    }
    if (start_ > 0 && status == 416) {  // nothing is left, or the server's file is another one
      finish();
      return;
    }
    if (code == CURLE_HTTP_RETURNED_ERROR || status >= 400) {
      throw DownloadError(
          fmt::format("{}: found HTTP status {}, expected 200", request_.url, status));
    }
    if (code != CURLE_OK) {
      const std::string detail = message_[0] != 0 ? message_.data() : curl_easy_strerror(code);
      throw DownloadError(fmt::format("{}: {}", request_.url, detail));
    }
    finish();
  }

 private:
  template <class T>
  void set(CURLoption option, T value) {
    if (curl_easy_setopt(curl_.get(), option, value) != CURLE_OK) {
      throw DownloadError(fmt::format("{}: libcurl refused an option", request_.url));
    }
  }

  void set_up() {
    set(CURLOPT_URL, request_.url.c_str());
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    // From https never back to http.
    set(CURLOPT_REDIR_PROTOCOLS_STR, request_.url.starts_with("https:") ? "https" : "http,https");
    set(CURLOPT_FOLLOWLOCATION, 1L);
    set(CURLOPT_MAXREDIRS, 10L);
    set(CURLOPT_FAILONERROR, 1L);
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_CONNECTTIMEOUT, 30L);
    set(CURLOPT_LOW_SPEED_LIMIT, 1L);
    set(CURLOPT_LOW_SPEED_TIME, 60L);
    set(CURLOPT_USERAGENT, "tandem");
    set(CURLOPT_ERRORBUFFER, message_.data());
    set(CURLOPT_MAXFILESIZE_LARGE, static_cast<curl_off_t>(request_.most_bytes));
    // As a range and not through RESUME_FROM, for which libcurl makes an error of an answer without
    // range.
    if (start_ > 0) {
      range_ = fmt::format("{}-", start_);
      set(CURLOPT_RANGE, range_.c_str());
    }
    set(CURLOPT_WRITEFUNCTION, &Transfer::write);
    set(CURLOPT_WRITEDATA, this);
  }

  static std::size_t write(const char* data, std::size_t, std::size_t size, void* self) {
    return static_cast<Transfer*>(self)->append({data, size}) ? size : 0;
  }

  bool append(std::string_view bytes) {
    if (!begun_) {
      begun_ = true;
      long status = 0;
      curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &status);
      if (start_ > 0 && status != 206) restart();  // the server sends all of it
      curl_off_t length = -1;
      curl_easy_getinfo(curl_.get(), CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
      if (length > 0) total_ = start_ + static_cast<std::uint64_t>(length);
    }
    if (bytes.size() > request_.most_bytes || received_ > request_.most_bytes - bytes.size()) {
      too_large_ = true;
      return false;
    }
    errno = 0;
    if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size()) {
      write_error_ = errno != 0 ? errno : EIO;
      return false;
    }
    received_ += bytes.size();
    if (request_.progress) request_.progress(received_, total_);
    return true;
  }

  void restart() {
    file_.reset(std::freopen(request_.file.c_str(), "wb", file_.release()));
    if (file_ == nullptr)
      fail<DataError>(request_.file.string(), "", std::strerror(errno), "to write a file");
    start_ = 0;
    received_ = 0;
  }

  void finish() {
    if (std::fflush(file_.get()) != 0 || fsync(fileno(file_.get())) != 0) {
      fail<DataError>(request_.file.string(), at_byte(received_), std::strerror(errno),
                      "to write on");
    }
  }

  const Download& request_;
  std::unique_ptr<std::FILE, Close> file_;
  std::unique_ptr<CURL, Close> curl_;
  std::string range_;
  std::array<char, CURL_ERROR_SIZE> message_{};
  std::uint64_t start_ = 0;  // bytes of an earlier run
  std::uint64_t received_ = 0;
  std::uint64_t total_ = 0;  // of the file; 0: not told
  bool begun_ = false;
  bool too_large_ = false;
  int write_error_ = 0;
};

}  // namespace

void download(const Download& request) { Transfer(request).run(); }

std::string escape_name(const std::string& name) {
  std::string escaped;
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    escaped += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return escaped;
}

}  // namespace tandem::data
