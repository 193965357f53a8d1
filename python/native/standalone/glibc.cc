// SPDX-License-Identifier: MIT
// Lets a module that was linked on a new system run on older ones. A module needs at least the glibc in which
// the newest of the functions that it uses appeared, or appeared in a new version. Most of those in use here
// are as old as glibc itself and only moved between its libraries, or are easily made of older ones. The
// module exports none of the names below: its own code and the static libraries in it find these definitions
// in place of glibc's. `scripts/glibc-floor` tells which functions decide.

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

// ---- Functions that have an old version: a jump to it, whatever the arguments ----------------------

#if defined(__x86_64__)

#define TANDEM_AS(name, old_name)                            \
  asm(".symver tandem_old_" #name ", " #old_name             \
      "@GLIBC_2.2.5\n"                                       \
      ".pushsection .text.tandem_old_" #name                 \
      ", \"ax\", @progbits\n"                                \
      ".globl " #name "\n.type " #name ", @function\n" #name \
      ":\n"                                                  \
      "  endbr64\n"                                          \
      "  jmp *tandem_old_" #name "@GOTPCREL(%rip)\n.size " #name ", . - " #name "\n.popsection\n")
#define TANDEM_OLDEST(name) TANDEM_AS(name, name)

// Of 2.28: the same as fcntl where offsets have 64 bits.
TANDEM_AS(fcntl64, fcntl);
// Of 2.29: without the error handling of System V.
TANDEM_OLDEST(exp);
TANDEM_OLDEST(log);
TANDEM_OLDEST(pow);
// Of 2.32 and 2.34: libpthread and libdl became parts of libc.
TANDEM_OLDEST(__pthread_key_create);
TANDEM_OLDEST(dladdr);
TANDEM_OLDEST(dlclose);
TANDEM_OLDEST(dlerror);
TANDEM_OLDEST(dlopen);
TANDEM_OLDEST(dlsym);
TANDEM_OLDEST(pthread_create);
TANDEM_OLDEST(pthread_getspecific);
TANDEM_OLDEST(pthread_join);
TANDEM_OLDEST(pthread_key_create);
TANDEM_OLDEST(pthread_key_delete);
TANDEM_OLDEST(pthread_mutex_trylock);
TANDEM_OLDEST(pthread_mutexattr_destroy);
TANDEM_OLDEST(pthread_mutexattr_init);
TANDEM_OLDEST(pthread_mutexattr_settype);
TANDEM_OLDEST(pthread_once);
TANDEM_OLDEST(pthread_rwlock_destroy);
TANDEM_OLDEST(pthread_rwlock_init);
TANDEM_OLDEST(pthread_rwlock_rdlock);
TANDEM_OLDEST(pthread_rwlock_unlock);
TANDEM_OLDEST(pthread_rwlock_wrlock);
TANDEM_OLDEST(pthread_setspecific);
TANDEM_OLDEST(pthread_sigmask);

#endif  // __x86_64__

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)

// ---- Of 2.32 ---------------------------------------------------------------------------------------

// Where it is not zero libstdc++ counts references without atomic instructions.
extern char __libc_single_threaded;
char __libc_single_threaded = 0;

// ---- Of 2.33: functions that were inline before ----------------------------------------------------

static_assert(sizeof(struct stat) == sizeof(struct stat64));

int stat64(const char* path, struct stat64* out) noexcept {
  return static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, out, 0));
}
int lstat64(const char* path, struct stat64* out) noexcept {
  return static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, out, AT_SYMLINK_NOFOLLOW));
}
int fstat64(int file, struct stat64* out) noexcept {
  return static_cast<int>(syscall(SYS_fstat, file, out));
}
int stat(const char* path, struct stat* out) noexcept {
  return stat64(path, reinterpret_cast<struct stat64*>(out));
}
int lstat(const char* path, struct stat* out) noexcept {
  return lstat64(path, reinterpret_cast<struct stat64*>(out));
}
int fstat(int file, struct stat* out) noexcept {
  return fstat64(file, reinterpret_cast<struct stat64*>(out));
}

// ---- Of 2.25 and, for libstdc++'s std::random_device, 2.36 ------------------------------------------

ssize_t getrandom(void* out, std::size_t bytes, unsigned int flags) {
  return syscall(SYS_getrandom, out, bytes, flags);
}
int getentropy(void* out, std::size_t bytes) {
  return getrandom(out, bytes, 0) == static_cast<ssize_t>(bytes) ? 0
                                                                 : -1;  // few bytes come at once
}
std::uint32_t arc4random() noexcept {
  std::uint32_t number = 0;
  if (getentropy(&number, sizeof(number)) != 0) std::abort();
  return number;
}

// ---- Of 2.35: where the unwinder finds the tables of the code at an address --------------------------

#ifdef DLFO_STRUCT_HAS_EH_DBASE

struct Search {
  std::uintptr_t address;
  dl_find_object* found;
};

// Called for each object in memory; 1 ends the search.
static int look(dl_phdr_info* object, std::size_t, void* data) {
  const auto* search = static_cast<Search*>(data);
  bool here = false;
  dl_find_object found = {};
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& part = object->dlpi_phdr[i];
    const std::uintptr_t begin = object->dlpi_addr + part.p_vaddr;
    const std::uintptr_t end = begin + part.p_memsz;
    if (part.p_type == PT_LOAD && begin <= search->address && search->address < end) {
      here = true;
      found.dlfo_map_start = reinterpret_cast<void*>(begin);
      found.dlfo_map_end = reinterpret_cast<void*>(end);
    } else if (part.p_type == PT_GNU_EH_FRAME) {
      found.dlfo_eh_frame = reinterpret_cast<void*>(begin);
    }
  }
  if (!here || found.dlfo_eh_frame == nullptr) return 0;
  *search->found = found;
  return 1;
}

int _dl_find_object(void* address, dl_find_object* found) noexcept {
  Search search = {reinterpret_cast<std::uintptr_t>(address), found};
  return dl_iterate_phdr(look, &search) == 1 ? 0 : -1;
}

#endif

// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)
}
