/*
 * What a disk and a clock can do, put under a process with LD_PRELOAD:
 * - notes for every file how much of it was there when it was last synced, before the sync began: the rest is what
 *   a power cut takes away;
 * - refuses writes to files when the disk is to be full;
 * - adds an offset to the time of day.
 * FAULT_CONTROL names a file of two 64-bit numbers: the offset in milliseconds, and the bytes that still fit on the
 * disk, negative for any. FAULT_SYNCED names the file for the notes: "inode size" a line.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct control {
  volatile int64_t offset_ms;
  volatile int64_t bytes_left;
};

static struct control *control;
static int notes = -1;

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("FAULT_CONTROL");
  int fd = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
  if (fd >= 0) {
    void *mapped = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    control = mapped == MAP_FAILED ? NULL : mapped;
    close(fd);
  }
  path = getenv("FAULT_SYNCED");
  notes = path == NULL ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int is_file(int fd, struct stat *found) {
  return fd != notes && fstat(fd, found) == 0 && S_ISREG(found->st_mode);
}

static int synced(int fd, int (*sync)(int)) {
  struct stat before;
  int counts = notes >= 0 && is_file(fd, &before);
  int result = sync(fd);
  if (result == 0 && counts) {
    char line[64];
    int length = snprintf(line, sizeof line, "%lu %lld\n", (unsigned long)before.st_ino, (long long)before.st_size);
    static ssize_t (*real_write)(int, const void *, size_t);
    if (real_write == NULL) real_write = REAL(write);
    if (real_write(notes, line, (size_t)length) != length) abort();
  }
  return result;
}

int fsync(int fd) { return synced(fd, REAL(fsync)); }
int fdatasync(int fd) { return synced(fd, REAL(fdatasync)); }

ssize_t write(int fd, const void *bytes, size_t count) {
  static ssize_t (*real_write)(int, const void *, size_t);
  if (real_write == NULL) real_write = REAL(write);
  struct stat found;
  if (control == NULL || control->bytes_left < 0 || !is_file(fd, &found)) return real_write(fd, bytes, count);
  int64_t left = __sync_fetch_and_add(&control->bytes_left, 0);
  if (left == 0) {
    errno = ENOSPC;
    return -1;
  }
  size_t fits = (int64_t)count < left ? count : (size_t)left;
  ssize_t written = real_write(fd, bytes, fits);
  if (written > 0) __sync_fetch_and_sub(&control->bytes_left, written);
  return written;
}

int clock_gettime(clockid_t id, struct timespec *now) {
  static int (*real)(clockid_t, struct timespec *);
  if (real == NULL) real = REAL(clock_gettime);
  int result = real(id, now);
  if (result == 0 && control != NULL && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) {
    now->tv_sec += control->offset_ms / 1000;
  }
  return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  static int (*real)(struct timeval *restrict, void *restrict);
  if (real == NULL) real = REAL(gettimeofday);
  int result = real(now, zone);
  if (result == 0 && control != NULL) now->tv_sec += control->offset_ms / 1000;
  return result;
}

time_t time(time_t *at) {
  static time_t (*real)(time_t *);
  if (real == NULL) real = REAL(time);
  time_t now = real(NULL) + (control == NULL ? 0 : control->offset_ms / 1000);
  if (at != NULL) *at = now;
  return now;
}
