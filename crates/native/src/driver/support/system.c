/* More functions of the C library in a form that can be instrumented: reading text, dates, messages and ends, signals that nobody
   sends, and numbers that are drawn. All are weak: the program may have its own. */

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define OFFERED __attribute__((weak, visibility("hidden")))

/* Ends the check: the program does what is not supported. */
extern void mazurka_refused(const char *name, const char *why);

OFFERED void *memmem(const void *text, size_t size, const void *wanted, size_t length) {
  const char *from = text;
  for (size_t i = 0; i + length <= size; i++)
    if (memcmp(from + i, wanted, length) == 0) return (void *)(from + i);
  return 0;
}

/* ---- Text that is read ---- */

struct input {
  const char *text;
  size_t at;
};

static void skip_space(struct input *input) {
  while (isspace((unsigned char)input->text[input->at])) input->at++;
}

/* How many characters of a number there are, and its form for `strtoull`. */
static size_t number_length(const char *text, int base, size_t most) {
  size_t i = 0, digits = 0;
  if (i < most && (text[i] == '+' || text[i] == '-')) i++;
  if ((base == 0 || base == 16) && i + 2 < most && text[i] == '0' && (text[i + 1] == 'x' || text[i + 1] == 'X') &&
      isxdigit((unsigned char)text[i + 2]))
    i += 2, base = 16;
  if (base == 0) base = text[i] == '0' ? 8 : 10;
  for (; i < most; i++, digits++) {
    int c = (unsigned char)text[i];
    int value = isdigit(c) ? c - '0' : isalpha(c) ? tolower(c) - 'a' + 10 : 99;
    if (value >= base) break;
  }
  return digits ? i : 0;
}

static size_t fraction_length(const char *text, size_t most) {
  char copy[128], *end;
  size_t i = 0;
  if (most > sizeof copy - 1) most = sizeof copy - 1;
  for (; i < most && text[i]; i++) copy[i] = text[i];
  copy[i] = 0;
  if (isspace((unsigned char)copy[0])) return 0;
  (void)strtold(copy, &end);
  return (size_t)(end - copy);
}

/* Stores a number as wide as the letters before its conversion say. */
static void store_number(void *to, const char *letters, unsigned long long value) {
  if (letters[0] == 'h' && letters[1] == 'h') *(char *)to = (char)value;
  else if (letters[0] == 'h') *(short *)to = (short)value;
  else if (letters[0] == 0) *(int *)to = (int)value;
  else *(long long *)to = (long long)value;
}

/* Whether a character is in a set, which begins after its bracket; and where that ends. */
static const char *set_end(const char *set) {
  if (*set == '^') set++;
  if (*set == ']') set++;
  while (*set && *set != ']') set++;
  return set;
}

static int in_set(const char *set, unsigned char c) {
  const char *end = set_end(set);
  int negated = *set == '^', found = 0;
  for (set += negated; set < end; set++) {
    if (set[1] == '-' && set + 2 < end) {
      found |= c >= (unsigned char)set[0] && c <= (unsigned char)set[2];
      set += 2;
    } else {
      found |= c == (unsigned char)*set;
    }
  }
  return found != negated;
}

/* A conversion that is the same for all texts: reads, and gives whether there was something. */
static int read_text(struct input *input, char kind, const char *set, size_t most, char *to) {
  size_t count = 0;
  for (char c; count < most && (c = input->text[input->at]); count++, input->at++) {
    if (kind == 's' && isspace((unsigned char)c)) break;
    if (kind == '[' && !in_set(set, (unsigned char)c)) break;
    if (to) to[count] = c;
  }
  if (count == 0 || (kind == 'c' && count < most)) return 0;
  if (to && kind != 'c') to[count] = 0;
  return 1;
}

static int read_number(struct input *input, char kind, const char *letters, size_t most, void *to) {
  int base = kind == 'd' || kind == 'u' ? 10 : kind == 'o' ? 8 : kind == 'i' ? 0 : 16;
  size_t length = number_length(input->text + input->at, base, most);
  char copy[80];
  if (length == 0 || length >= sizeof copy) return 0;
  for (size_t i = 0; i < length; i++) copy[i] = input->text[input->at + i];
  copy[length] = 0;
  input->at += length;
  if (!to) return 1;
  unsigned long long value = kind == 'd' || kind == 'i' ? (unsigned long long)strtoll(copy, 0, base) : strtoull(copy, 0, base);
  store_number(to, kind == 'p' ? "l" : letters, value);
  return 1;
}

static int read_fraction(struct input *input, const char *letters, size_t most, void *to) {
  size_t length = fraction_length(input->text + input->at, most);
  char copy[128];
  if (length == 0) return 0;
  for (size_t i = 0; i < length; i++) copy[i] = input->text[input->at + i];
  copy[length] = 0;
  input->at += length;
  if (!to) return 1;
  if (letters[0] == 'L') *(long double *)to = strtold(copy, 0);
  else if (letters[0] == 'l') *(double *)to = strtod(copy, 0);
  else *(float *)to = strtof(copy, 0);
  return 1;
}

static int scan(const char *text, const char *format, va_list given) {
  struct input input = {text, 0};
  int stored = 0;
  va_list list;
  va_copy(list, given);
  for (char f; (f = *format++);) {
    if (isspace((unsigned char)f)) {
      skip_space(&input);
      continue;
    }
    if (f != '%' || *format == '%') {
      if (f == '%') skip_space(&input), format++;
      if (input.text[input.at] != f) goto ended;
      input.at++;
      continue;
    }
    int dropped = *format == '*', read;
    format += dropped;
    size_t most = 0;
    for (; isdigit((unsigned char)*format); format++) most = most * 10 + (size_t)(*format - '0');
    char letters[3] = {0};
    for (int i = 0; *format && strchr("hlLqjzt", *format); format++)
      if (i < 2) letters[i++] = *format;
    char kind = *format++;
    const char *set = format;
    if (kind == '[') format = set_end(format) + 1;
    if (kind != 'c' && kind != '[' && kind != 'n') skip_space(&input);
    if (kind != 'n' && input.text[input.at] == 0) {
      stored = stored ? stored : -1;
      goto ended;
    }
    if (letters[0] == 'l' && (kind == 's' || kind == 'c' || kind == '['))
      mazurka_refused("sscanf", "wide characters are not read");
    void *to = dropped ? 0 : va_arg(list, void *);
    switch (kind) {
      case 'n':
        if (to) store_number(to, letters, input.at);
        continue;
      case 'd': case 'i': case 'u': case 'o': case 'x': case 'X': case 'p':
        read = read_number(&input, kind, letters, most ? most : SIZE_MAX, to);
        break;
      case 'e': case 'E': case 'f': case 'F': case 'g': case 'G': case 'a': case 'A':
        read = read_fraction(&input, letters, most ? most : SIZE_MAX, to);
        break;
      case 's': case '[': read = read_text(&input, kind, set, most ? most : SIZE_MAX, to); break;
      case 'c': read = read_text(&input, kind, set, most ? most : 1, to); break;
      default: mazurka_refused("sscanf", "the format has a conversion that is not known"); read = 0;
    }
    if (!read) goto ended;
    stored += !dropped;
  }
ended:
  va_end(list);
  return stored;
}

/* Headers give these names of their own, by the standard that is compiled for. */
#define SCANS(id, name, other)                                                                \
  OFFERED int id(const char *text, const char *format, ...) __asm__(name);                    \
  OFFERED int v##id(const char *text, const char *format, va_list list) __asm__(other);       \
  int v##id(const char *text, const char *format, va_list list) { return scan(text, format, list); } \
  int id(const char *text, const char *format, ...) {                                         \
    va_list list;                                                                             \
    va_start(list, format);                                                                   \
    int stored = scan(text, format, list);                                                    \
    va_end(list);                                                                             \
    return stored;                                                                            \
  }
SCANS(scan_90, "sscanf", "vsscanf")
SCANS(scan_99, "__isoc99_sscanf", "__isoc99_vsscanf")
SCANS(scan_23, "__isoc23_sscanf", "__isoc23_vsscanf")

/* ---- Dates: of the modelled clock, in universal time ---- */

OFFERED double difftime(time_t later, time_t earlier) { return (double)later - (double)earlier; }

static int is_leap(long year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

static const int days_before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};

static int first_of(int month, int leap) { return days_before[month] + (leap && month > 1); }

OFFERED struct tm *gmtime_r(const time_t *time, struct tm *to) {
  long days = *time / 86400, rest = *time % 86400, year = 1970;
  if (rest < 0) rest += 86400, days--;
  struct tm tm = {0};
  tm.tm_wday = (int)((days % 7 + 11) % 7);
  tm.tm_hour = (int)(rest / 3600), tm.tm_min = (int)(rest / 60 % 60), tm.tm_sec = (int)(rest % 60);
  while (days < 0) days += 365 + is_leap(--year);
  while (days >= 365 + is_leap(year)) days -= 365 + is_leap(year++);
  tm.tm_year = (int)(year - 1900), tm.tm_yday = (int)days;
  while (days >= first_of(tm.tm_mon + 1, is_leap(year))) tm.tm_mon++;
  tm.tm_mday = (int)days - first_of(tm.tm_mon, is_leap(year)) + 1;
  tm.tm_zone = "UTC";
  *to = tm;
  return to;
}

OFFERED struct tm *localtime_r(const time_t *time, struct tm *to) { return gmtime_r(time, to); }

static struct tm broken_down;

OFFERED struct tm *gmtime(const time_t *time) { return gmtime_r(time, &broken_down); }
OFFERED struct tm *localtime(const time_t *time) { return gmtime_r(time, &broken_down); }

OFFERED time_t timegm(struct tm *tm) {
  long months = tm->tm_mon % 12, year = tm->tm_year + 1900L + tm->tm_mon / 12;
  if (months < 0) months += 12, year--;
  long days = first_of((int)months, is_leap(year)) + tm->tm_mday - 1L;
  for (long y = 1970; y < year; y++) days += 365 + is_leap(y);
  for (long y = 1970; y > year; y--) days -= 365 + is_leap(y - 1);
  time_t time = days * 86400 + tm->tm_hour * 3600L + tm->tm_min * 60L + tm->tm_sec;
  gmtime_r(&time, tm);
  return time;
}

OFFERED time_t mktime(struct tm *tm) { return timegm(tm); }
OFFERED void tzset(void) {}

static const char *const day_names[] = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
static const char *const month_names[] = {"January", "February", "March",     "April",   "May",      "June",
                                          "July",    "August",   "September", "October", "November", "December"};

/* One conversion of a date, of at most 31 characters. */
static void date_part(char part[32], char kind, const struct tm *tm) {
  const char *day = tm->tm_wday >= 0 && tm->tm_wday < 7 ? day_names[tm->tm_wday] : "?";
  const char *month = tm->tm_mon >= 0 && tm->tm_mon < 12 ? month_names[tm->tm_mon] : "?";
  int year = tm->tm_year + 1900, hour12 = (tm->tm_hour + 11) % 12 + 1;
  switch (kind) {
    case 'a': snprintf(part, 32, "%.3s", day); break;
    case 'A': snprintf(part, 32, "%s", day); break;
    case 'b': case 'h': snprintf(part, 32, "%.3s", month); break;
    case 'B': snprintf(part, 32, "%s", month); break;
    case 'C': snprintf(part, 32, "%02d", year / 100); break;
    case 'd': snprintf(part, 32, "%02d", tm->tm_mday); break;
    case 'e': snprintf(part, 32, "%2d", tm->tm_mday); break;
    case 'H': snprintf(part, 32, "%02d", tm->tm_hour); break;
    case 'I': snprintf(part, 32, "%02d", hour12); break;
    case 'j': snprintf(part, 32, "%03d", tm->tm_yday + 1); break;
    case 'k': snprintf(part, 32, "%2d", tm->tm_hour); break;
    case 'l': snprintf(part, 32, "%2d", hour12); break;
    case 'm': snprintf(part, 32, "%02d", tm->tm_mon + 1); break;
    case 'M': snprintf(part, 32, "%02d", tm->tm_min); break;
    case 'n': snprintf(part, 32, "\n"); break;
    case 'p': snprintf(part, 32, tm->tm_hour < 12 ? "AM" : "PM"); break;
    case 'S': snprintf(part, 32, "%02d", tm->tm_sec); break;
    case 't': snprintf(part, 32, "\t"); break;
    case 'u': snprintf(part, 32, "%d", tm->tm_wday ? tm->tm_wday : 7); break;
    case 'w': snprintf(part, 32, "%d", tm->tm_wday); break;
    case 'y': snprintf(part, 32, "%02d", year % 100); break;
    case 'Y': snprintf(part, 32, "%d", year); break;
    case 'z': snprintf(part, 32, "+0000"); break;
    case 'Z': snprintf(part, 32, "UTC"); break;
    case '%': snprintf(part, 32, "%%"); break;
    default: mazurka_refused("strftime", "the format has a conversion that is not known");
  }
}

/* What some conversions stand for. */
static const char *several(char kind) {
  switch (kind) {
    case 'c': return "%a %b %e %H:%M:%S %Y";
    case 'D': case 'x': return "%m/%d/%y";
    case 'F': return "%Y-%m-%d";
    case 'r': return "%I:%M:%S %p";
    case 'R': return "%H:%M";
    case 'T': case 'X': return "%H:%M:%S";
    default: return 0;
  }
}

OFFERED size_t strftime(char *to, size_t size, const char *format, const struct tm *tm) {
  size_t length = 0;
  for (char f; (f = *format++);) {
    char part[32] = {f, 0};
    const char *others = 0;
    if (f == '%') {
      f = *format++;
      others = several(f);
      if (!others) date_part(part, f, tm);
    }
    size_t more = others ? strftime(to + length, size - length, others, tm) : strlen(part);
    if (length + more >= size || (others && more == 0)) return 0;
    if (!others) memcpy(to + length, part, more);
    length += more;
  }
  if (size > length) to[length] = 0;
  return length;
}

OFFERED char *asctime_r(const struct tm *tm, char *to) {
  strftime(to, 26, "%a %b %e %H:%M:%S %Y\n", tm);
  return to;
}

static char date_text[26];

OFFERED char *asctime(const struct tm *tm) { return asctime_r(tm, date_text); }

OFFERED char *ctime_r(const time_t *time, char *to) {
  struct tm tm;
  return asctime_r(gmtime_r(time, &tm), to);
}

OFFERED char *ctime(const time_t *time) { return ctime_r(time, date_text); }

/* ---- Messages, and the end of the program ---- */

static void message(int error, const char *format, va_list list) {
  fputs("program: ", stderr);
  if (format) vfprintf(stderr, format, list);
  if (error >= 0) {
    if (format) fputs(": ", stderr);
    fputs(strerror(error), stderr);
  }
  fputs("\n", stderr);
}

OFFERED void vwarn(const char *format, va_list list) { message(errno, format, list); }
OFFERED void vwarnx(const char *format, va_list list) { message(-1, format, list); }

#define MESSAGE(name, error)                \
  OFFERED void name(const char *format, ...) { \
    va_list list;                           \
    va_start(list, format);                 \
    message(error, format, list);           \
    va_end(list);                           \
  }
MESSAGE(warn, errno)
MESSAGE(warnx, -1)

#define LAST_MESSAGE(name, other, error)                \
  OFFERED void other(int status, const char *format, va_list list) { \
    message(error, format, list);                       \
    exit(status);                                       \
  }                                                     \
  OFFERED void name(int status, const char *format, ...) { \
    va_list list;                                       \
    va_start(list, format);                             \
    other(status, format, list);                        \
  }
LAST_MESSAGE(err, verr, errno)
LAST_MESSAGE(errx, verrx, -1)

OFFERED void error(int status, int number, const char *format, ...) {
  va_list list;
  va_start(list, format);
  message(number ? number : -1, format, list);
  va_end(list);
  if (status) exit(status);
}

/* ---- Signals: nobody sends any, so they may be handled, ignored or blocked: nothing comes of it ---- */

/* But for an alarm that has a handler. */
static int alarm_is_handled, alarm_is_set;

static void note_alarm(int *one, int *other) {
  __atomic_store_n(one, 1, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(other, __ATOMIC_SEQ_CST))
    mazurka_refused("alarm", "signals can't be modelled; call the handler from a thread instead");
}

static void note_handler(int number, int handled) {
  if (number == SIGALRM && handled) note_alarm(&alarm_is_handled, &alarm_is_set);
}

OFFERED void (*signal(int number, void (*handler)(int)))(int) {
  note_handler(number, handler != SIG_DFL && handler != SIG_IGN);
  return SIG_DFL;
}

OFFERED int sigaction(int number, const struct sigaction *action, struct sigaction *old) {
  if (action) note_handler(number, action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN);
  if (old) memset(old, 0, sizeof *old);
  return 0;
}

OFFERED int sigemptyset(sigset_t *set) {
  memset(set, 0, sizeof *set);
  return 0;
}

OFFERED int sigfillset(sigset_t *set) {
  memset(set, 255, sizeof *set);
  return 0;
}

OFFERED int sigaddset(sigset_t *set, int number) {
  ((unsigned char *)set)[(number - 1) / 8] |= (unsigned char)(1 << (number - 1) % 8);
  return 0;
}

OFFERED int sigdelset(sigset_t *set, int number) {
  ((unsigned char *)set)[(number - 1) / 8] &= (unsigned char)~(1 << (number - 1) % 8);
  return 0;
}

OFFERED int sigismember(const sigset_t *set, int number) {
  return ((const unsigned char *)set)[(number - 1) / 8] >> (number - 1) % 8 & 1;
}

OFFERED int sigprocmask(int how, const sigset_t *set, sigset_t *old) {
  (void)how, (void)set;
  if (old) sigemptyset(old);
  return 0;
}

OFFERED int pthread_sigmask(int how, const sigset_t *set, sigset_t *old) { return sigprocmask(how, set, old); }

/* An alarm that nobody handles ends the program, which is nothing to look for. */
OFFERED unsigned alarm(unsigned seconds) {
  if (seconds) note_alarm(&alarm_is_set, &alarm_is_handled);
  return 0;
}

/* ---- What a program asks of its machine: the same everywhere ---- */

/* As many as make a program use threads. */
#define PROCESSORS 2

OFFERED int get_nprocs(void) { return PROCESSORS; }
OFFERED int get_nprocs_conf(void) { return PROCESSORS; }

OFFERED long sysconf(int name) {
  switch (name) {
    case _SC_NPROCESSORS_ONLN: case _SC_NPROCESSORS_CONF: return PROCESSORS;
    case _SC_PAGESIZE: return 4096;
    case _SC_CLK_TCK: return 100;
    case _SC_OPEN_MAX: return 1024;
    case _SC_PHYS_PAGES: case _SC_AVPHYS_PAGES: return 1 << 20;
    default: mazurka_refused("sysconf", "what is asked for is not known"); return -1;
  }
}

OFFERED int getpid(void) { return 4711; }

/* Nothing is limited. */
OFFERED int getrlimit(int resource, struct rlimit *limit) {
  (void)resource;
  limit->rlim_cur = limit->rlim_max = RLIM_INFINITY;
  return 0;
}

/* To wait for no file is to sleep. */
OFFERED int poll(struct pollfd *files, nfds_t count, int milliseconds) {
  (void)files;
  if (count != 0 || milliseconds < 0) {
    mazurka_refused("poll", "files are not supported; without files it sleeps");
    return -1;
  }
  usleep((unsigned)milliseconds * 1000u);
  return 0;
}

/* Nobody sits there. */
OFFERED int isatty(int file) {
  (void)file;
  return 0;
}

/* ---- Threads that nobody cancels ---- */

OFFERED int pthread_setcancelstate(int state, int *old) {
  (void)state;
  if (old) *old = 0;
  return 0;
}

OFFERED int pthread_setcanceltype(int type, int *old) { return pthread_setcancelstate(type, old); }
OFFERED void pthread_testcancel(void) {}

/* ---- Numbers drawn from the system: the same in every execution that draws in the same order ---- */

OFFERED int getentropy(void *to, size_t size) {
  for (size_t i = 0; i < size; i++) ((unsigned char *)to)[i] = (unsigned char)(rand() >> 8);
  return 0;
}

OFFERED long getrandom(void *to, size_t size, unsigned flags) {
  (void)flags;
  getentropy(to, size);
  return (long)size;
}

OFFERED unsigned arc4random(void) { return (unsigned)rand() << 16 ^ (unsigned)rand(); }
OFFERED unsigned arc4random_uniform(unsigned below) { return below ? (unsigned)rand() % below : 0; }
