/* Functions of the C library in a form that can be instrumented: what they read and write of the program's memory is
   announced, and what they keep is put back between executions. All are weak: the runtime may know better. */

#include <ctype.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define OFFERED __attribute__((weak, visibility("hidden")))

/* The C library's own, under names that programs do not use. */
extern int __vsnprintf_chk(char *, size_t, int, size_t, const char *, va_list);
extern double __strtod_internal(const char *, char **, int);
extern long double __strtold_internal(const char *, char **, int);
extern float __strtof_internal(const char *, char **, int);
extern int *__errno_location(void);
extern void abort(void);

/* ---- Memory and strings ---- */

OFFERED void *memchr(const void *from, int byte, size_t size) {
  const unsigned char *at = from;
  for (size_t i = 0; i < size; i++)
    if (at[i] == (unsigned char)byte) return (void *)(at + i);
  return 0;
}

OFFERED void *rawmemchr(const void *from, int byte) {
  const unsigned char *at = from;
  while (*at != (unsigned char)byte) at++;
  return (void *)at;
}

OFFERED void *memrchr(const void *from, int byte, size_t size) {
  const unsigned char *at = from;
  while (size-- > 0)
    if (at[size] == (unsigned char)byte) return (void *)(at + size);
  return 0;
}

OFFERED int memcmp(const void *left, const void *right, size_t size) {
  const unsigned char *a = left, *b = right;
  for (size_t i = 0; i < size; i++) {
    int x = a[i], y = b[i];
    if (x != y) return x - y;
  }
  return 0;
}

OFFERED int bcmp(const void *left, const void *right, size_t size) { return memcmp(left, right, size); }

OFFERED size_t strlen(const char *text) {
  size_t length = 0;
  while (text[length]) length++;
  return length;
}

OFFERED size_t strnlen(const char *text, size_t most) {
  size_t length = 0;
  while (length < most && text[length]) length++;
  return length;
}

OFFERED char *stpcpy(char *to, const char *from) {
  char byte;
  while ((byte = *from++)) *to++ = byte;
  *to = 0;
  return to;
}

OFFERED char *strcpy(char *to, const char *from) {
  stpcpy(to, from);
  return to;
}

OFFERED char *stpncpy(char *to, const char *from, size_t size) {
  size_t i = 0;
  char byte;
  for (; i < size && (byte = from[i]); i++) to[i] = byte;
  char *end = to + i;
  for (; i < size; i++) to[i] = 0;
  return end;
}

OFFERED char *strncpy(char *to, const char *from, size_t size) {
  stpncpy(to, from, size);
  return to;
}

OFFERED char *strcat(char *to, const char *from) {
  stpcpy(to + strlen(to), from);
  return to;
}

OFFERED char *strncat(char *to, const char *from, size_t most) {
  char *end = to + strlen(to);
  char byte;
  while (most-- > 0 && (byte = *from++)) *end++ = byte;
  *end = 0;
  return to;
}

OFFERED int strncmp(const char *left, const char *right, size_t most) {
  for (size_t i = 0; i < most; i++) {
    int x = (unsigned char)left[i], y = (unsigned char)right[i];
    if (x != y || x == 0) return x - y;
  }
  return 0;
}

OFFERED int strcmp(const char *left, const char *right) { return strncmp(left, right, SIZE_MAX); }
OFFERED int strcoll(const char *left, const char *right) { return strcmp(left, right); }

OFFERED int strncasecmp(const char *left, const char *right, size_t most) {
  for (size_t i = 0; i < most; i++) {
    int x = tolower((unsigned char)left[i]), y = tolower((unsigned char)right[i]);
    if (x != y || x == 0) return x - y;
  }
  return 0;
}

OFFERED int strcasecmp(const char *left, const char *right) { return strncasecmp(left, right, SIZE_MAX); }

OFFERED char *strchrnul(const char *text, int wanted) {
  char byte;
  while ((byte = *text) && byte != (char)wanted) text++;
  return (char *)text;
}

OFFERED char *strchr(const char *text, int wanted) {
  for (;; text++) {
    char byte = *text;
    if (byte == (char)wanted) return (char *)text;
    if (byte == 0) return 0;
  }
}

OFFERED char *index(const char *text, int wanted) { return strchr(text, wanted); }

OFFERED char *strrchr(const char *text, int wanted) {
  const char *last = 0;
  for (;; text++) {
    char byte = *text;
    if (byte == (char)wanted) last = text;
    if (byte == 0) return (char *)last;
  }
}

OFFERED char *rindex(const char *text, int wanted) { return strrchr(text, wanted); }

OFFERED size_t strspn(const char *text, const char *among) {
  size_t length = 0;
  char byte;
  while ((byte = text[length]) && strchr(among, byte)) length++;
  return length;
}

OFFERED size_t strcspn(const char *text, const char *among) {
  size_t length = 0;
  char byte;
  while ((byte = text[length]) && !strchr(among, byte)) length++;
  return length;
}

OFFERED char *strpbrk(const char *text, const char *among) {
  text += strcspn(text, among);
  return *text ? (char *)text : 0;
}

OFFERED char *strstr(const char *text, const char *wanted) {
  size_t length = strlen(wanted);
  for (;; text++) {
    if (strncmp(text, wanted, length) == 0) return (char *)text;
    if (*text == 0) return 0;
  }
}

OFFERED char *strtok_r(char *text, const char *among, char **rest) {
  if (text == 0) text = *rest;
  text += strspn(text, among);
  if (*text == 0) {
    *rest = text;
    return 0;
  }
  char *end = text + strcspn(text, among);
  if (*end) *end++ = 0;
  *rest = end;
  return text;
}

OFFERED char *__strtok_r(char *text, const char *among, char **rest) { return strtok_r(text, among, rest); }

OFFERED char *strtok(char *text, const char *among) {
  static char *rest;
  return strtok_r(text, among, &rest);
}

OFFERED char *strsep(char **text, const char *among) {
  char *begin = *text;
  if (begin == 0) return 0;
  char *end = begin + strcspn(begin, among);
  if (*end) {
    *end++ = 0;
    *text = end;
  } else {
    *text = 0;
  }
  return begin;
}

OFFERED char *strndup(const char *text, size_t most) {
  size_t length = strnlen(text, most);
  char *copy = malloc(length + 1);
  if (copy == 0) return 0;
  for (size_t i = 0; i < length; i++) copy[i] = text[i];
  copy[length] = 0;
  return copy;
}

OFFERED char *strdup(const char *text) { return strndup(text, SIZE_MAX - 1); }
OFFERED char *__strdup(const char *text) { return strdup(text); }

/* ---- Numbers ---- */

/* The value of a digit, or 36. */
static int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'z') return c - 'a' + 10;
  if (c >= 'A' && c <= 'Z') return c - 'A' + 10;
  return 36;
}

struct number {
  unsigned long long value;
  int negative, overflow;
};

static struct number number(const char *text, char **end, int base) {
  const char *at = text;
  struct number result = {0, 0, 0};
  while (isspace((unsigned char)*at)) at++;
  char sign = *at;
  if (sign == '+' || sign == '-') at++;
  result.negative = sign == '-';
  if ((base == 0 || base == 16) && at[0] == '0' && (at[1] == 'x' || at[1] == 'X') && digit(at[2]) < 16) {
    at += 2;
    base = 16;
  } else if (base == 0) {
    base = *at == '0' ? 8 : 10;
  }
  const char *first = at;
  for (int value; (value = digit(*at)) < base; at++) {
    unsigned long long before = result.value;
    if (before > (ULLONG_MAX - value) / base) result.overflow = 1;
    result.value = before * base + value;
  }
  if (end) *end = (char *)(at == first ? text : at);
  return result;
}

#define RANGE_ERROR 34

OFFERED long long strtoll(const char *text, char **end, int base) {
  struct number read = number(text, end, base);
  unsigned long long most = read.negative ? -(unsigned long long)LLONG_MIN : LLONG_MAX;
  if (read.overflow || read.value > most) {
    *__errno_location() = RANGE_ERROR;
    return read.negative ? LLONG_MIN : LLONG_MAX;
  }
  return read.negative ? (long long)-read.value : (long long)read.value;
}

OFFERED unsigned long long strtoull(const char *text, char **end, int base) {
  struct number read = number(text, end, base);
  if (read.overflow) {
    *__errno_location() = RANGE_ERROR;
    return ULLONG_MAX;
  }
  return read.negative ? -read.value : read.value;
}

OFFERED long strtol(const char *text, char **end, int base) { return strtoll(text, end, base); }
OFFERED unsigned long strtoul(const char *text, char **end, int base) { return strtoull(text, end, base); }
OFFERED long __isoc23_strtol(const char *text, char **end, int base) { return strtoll(text, end, base); }
OFFERED long long __isoc23_strtoll(const char *text, char **end, int base) { return strtoll(text, end, base); }
OFFERED unsigned long __isoc23_strtoul(const char *text, char **end, int base) { return strtoull(text, end, base); }
OFFERED unsigned long long __isoc23_strtoull(const char *text, char **end, int base) {
  return strtoull(text, end, base);
}
OFFERED int atoi(const char *text) { return (int)strtoll(text, 0, 10); }
OFFERED long atol(const char *text) { return strtoll(text, 0, 10); }
OFFERED long long atoll(const char *text) { return strtoll(text, 0, 10); }

/* Numbers with fractions are read by the C library from a copy of what might be one. */
#define COPIED 128
static void copied(char *copy, const char *text) {
  size_t i = 0;
  char byte;
  for (; i < COPIED - 1 && (byte = text[i]); i++) copy[i] = byte;
  copy[i] = 0;
}

#define READS(type, name, internal)                     \
  OFFERED type name(const char *text, char **end) {     \
    char copy[COPIED], *stop;                           \
    copied(copy, text);                                 \
    type value = internal(copy, &stop, 0);              \
    if (end) *end = (char *)text + (stop - copy);       \
    return value;                                       \
  }
READS(double, strtod, __strtod_internal)
READS(float, strtof, __strtof_internal)
READS(long double, strtold, __strtold_internal)
OFFERED double atof(const char *text) { return strtod(text, 0); }

/* ---- Sorting and searching ---- */

static void exchange(char *a, char *b, size_t size) {
  for (size_t i = 0; i < size; i++) {
    char byte = a[i];
    a[i] = b[i];
    b[i] = byte;
  }
}

/* A heap sort: no memory of its own, and never quadratic. */
OFFERED void qsort_r(void *array, size_t count, size_t size, int (*compare)(const void *, const void *, void *),
                     void *with) {
  char *base = array;
  if (count < 2) return;
  size_t begin = count / 2, end = count;
  while (end > 1) {
    if (begin > 0) {
      begin--;
    } else {
      end--;
      exchange(base, base + end * size, size);
    }
    for (size_t root = begin, child; (child = 2 * root + 1) < end; root = child) {
      if (child + 1 < end && compare(base + child * size, base + (child + 1) * size, with) < 0) child++;
      if (compare(base + root * size, base + child * size, with) >= 0) break;
      exchange(base + root * size, base + child * size, size);
    }
  }
}

static int plainly(const void *a, const void *b, void *compare) {
  return (*(int (**)(const void *, const void *))compare)(a, b);
}

OFFERED void qsort(void *array, size_t count, size_t size, int (*compare)(const void *, const void *)) {
  qsort_r(array, count, size, plainly, &compare);
}

OFFERED void *bsearch(const void *key, const void *array, size_t count, size_t size,
                      int (*compare)(const void *, const void *)) {
  const char *base = array;
  while (count > 0) {
    const char *middle = base + count / 2 * size;
    int order = compare(key, middle);
    if (order == 0) return (void *)middle;
    if (order > 0) {
      base = middle + size;
      count -= count / 2 + 1;
    } else {
      count /= 2;
    }
  }
  return 0;
}

/* ---- Numbers drawn: the same in every execution that draws in the same order ---- */

static uint64_t drawn = 1;

static uint32_t mixed(uint64_t state) {
  state ^= state >> 33;
  state *= 0xff51afd7ed558ccdULL;
  state ^= state >> 33;
  state *= 0xc4ceb9fe1a85ec53ULL;
  return (uint32_t)(state >> 33) & 0x7fffffff;
}

OFFERED void srand(unsigned seed) { __atomic_store_n(&drawn, (uint64_t)seed << 32, __ATOMIC_SEQ_CST); }
OFFERED int rand(void) { return (int)mixed(__atomic_fetch_add(&drawn, 1, __ATOMIC_SEQ_CST)); }
OFFERED void srandom(unsigned seed) { srand(seed); }
OFFERED long random(void) { return rand(); }
OFFERED int rand_r(unsigned *state) {
  unsigned before = *state;
  *state = before + 1;
  return (int)mixed(before);
}

/* ---- Formatted text in memory ---- */

struct text {
  char *to;
  size_t size, length;
};

static void put(struct text *text, char c) {
  if (text->length + 1 < text->size) text->to[text->length] = c;
  text->length++;
}

static int by_library(char *to, size_t size, const char *format, ...) {
  va_list list;
  va_start(list, format);
  int length = __vsnprintf_chk(to, size, 0, size, format, list);
  va_end(list);
  return length;
}

static void put_string(struct text *text, const char *from, int left, int width, int precision) {
  if (from == 0) from = "(null)";
  size_t length = strnlen(from, precision < 0 ? SIZE_MAX : (size_t)precision);
  size_t padding = width > 0 && (size_t)width > length ? (size_t)width - length : 0;
  if (!left)
    for (size_t i = 0; i < padding; i++) put(text, ' ');
  for (size_t i = 0; i < length; i++) put(text, from[i]);
  if (left)
    for (size_t i = 0; i < padding; i++) put(text, ' ');
}

/* One conversion, taken apart so that strings are read by us and numbers are written by the C library. */
struct conversion {
  char form[32];
  size_t length;
  int left, width, precision, longs;
};

static void note(struct conversion *conversion, char c) {
  if (conversion->length + 1 < sizeof conversion->form) conversion->form[conversion->length++] = c;
}

#define CONVERTED 4500
#define WRITTEN(argument) by_library(out, sizeof out, c.form, c.width, c.precision, argument)

OFFERED int vsnprintf(char *to, size_t size, const char *format, va_list given) {
  struct text text = {to, size, 0};
  va_list list;
  va_copy(list, given);
  for (char f; (f = *format++);) {
    if (f != '%') {
      put(&text, f);
      continue;
    }
    struct conversion c = {"%", 1, 0, 0, -1, 0};
    for (; (f = *format) == '-' || f == '+' || f == ' ' || f == '#' || f == '0' || f == '\''; format++) {
      c.left |= f == '-';
      note(&c, f);
    }
    if (f == '*') {
      c.width = va_arg(list, int);
      c.left |= c.width < 0;
      if (c.width < 0) note(&c, '-'), c.width = -c.width;
      format++;
    } else {
      for (; (f = *format) >= '0' && f <= '9'; format++) c.width = c.width * 10 + (f - '0');
    }
    if (*format == '.') {
      c.precision = 0;
      if (*++format == '*') {
        c.precision = va_arg(list, int);
        format++;
      } else {
        for (; (f = *format) >= '0' && f <= '9'; format++) c.precision = c.precision * 10 + (f - '0');
      }
    }
    /* Nobody formats wider than this on purpose. */
    if (c.width > 4000 || c.precision > 4000) abort();
    note(&c, '*'), note(&c, '.'), note(&c, '*');
    for (; (f = *format) == 'l' || f == 'h' || f == 'z' || f == 't' || f == 'j' || f == 'q' || f == 'L'; format++) {
      c.longs |= f == 'L' ? 2 : f != 'h';
      note(&c, f);
    }
    format++;
    note(&c, f);
    c.form[c.length] = 0;
    char out[CONVERTED];
    int length = 0;
    switch (f) {
      case '%': put(&text, '%'); continue;
      case 's':
        if (c.longs) abort();
        put_string(&text, va_arg(list, const char *), c.left, c.width, c.precision);
        continue;
      case 'c': {
        char one[2] = {(char)va_arg(list, int), 0};
        for (int i = 1; !c.left && i < c.width; i++) put(&text, ' ');
        put(&text, one[0]);
        for (int i = 1; c.left && i < c.width; i++) put(&text, ' ');
        continue;
      }
      case 'd': case 'i': case 'o': case 'u': case 'x': case 'X':
        length = c.longs ? WRITTEN(va_arg(list, long)) : WRITTEN(va_arg(list, int));
        break;
      case 'p': length = WRITTEN(va_arg(list, void *)); break;
      case 'e': case 'E': case 'f': case 'F': case 'g': case 'G': case 'a': case 'A':
        length = c.longs & 2 ? WRITTEN(va_arg(list, long double)) : WRITTEN(va_arg(list, double));
        break;
      default: abort();
    }
    for (int i = 0; i < length; i++) put(&text, out[i]);
  }
  va_end(list);
  if (size > 0) to[text.length < size ? text.length : size - 1] = 0;
  return (int)text.length;
}

OFFERED int vsprintf(char *to, const char *format, va_list list) { return vsnprintf(to, SIZE_MAX, format, list); }

OFFERED int snprintf(char *to, size_t size, const char *format, ...) {
  va_list list;
  va_start(list, format);
  int length = vsnprintf(to, size, format, list);
  va_end(list);
  return length;
}

OFFERED int sprintf(char *to, const char *format, ...) {
  va_list list;
  va_start(list, format);
  int length = vsnprintf(to, SIZE_MAX, format, list);
  va_end(list);
  return length;
}

OFFERED int vasprintf(char **to, const char *format, va_list list) {
  int length = vsnprintf(0, 0, format, list);
  *to = malloc((size_t)length + 1);
  return *to ? vsnprintf(*to, (size_t)length + 1, format, list) : -1;
}

OFFERED int asprintf(char **to, const char *format, ...) {
  va_list list;
  va_start(list, format);
  int length = vasprintf(to, format, list);
  va_end(list);
  return length;
}
