/* Functions of the C library that are given in an instrumented form: they do what they should, and two of them are seen to
   touch what another thread writes. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char text[8];

static int order(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

static void *writer(void *unused) {
  strcpy(text, "ab");
  return 0;
}

static void formats(void) {
  char buffer[100];
  int length = snprintf(buffer, sizeof buffer, "%s-%5d|%-4x|%.2f|%c|%%|%3s|%lu|%*d|%-3s|", text, -7, 255, 1.5, 'q', "z",
                        12345678901UL, 4, 12, "y");
  assert(strcmp(buffer, "ab-   -7|ff  |1.50|q|%|  z|12345678901|  12|y  |") == 0);
  assert(length == (int)strlen(buffer));
  assert(snprintf(buffer, 3, "%d", 12345) == 5 && strcmp(buffer, "12") == 0);
}

static void numbers(void) {
  char *end;
  assert(atoi(" -42x") == -42 && strtoul("0x1f", 0, 0) == 31 && strtol("077", 0, 0) == 63);
  assert(strtod("2.5e1!", &end) == 25.0 && *end == '!');
  assert(strtoll("99999999999999999999", 0, 10) == 9223372036854775807LL);
}

static void arrays(void) {
  int values[] = {5, 3, 9, 1, 7, 2}, key = 7;
  qsort(values, 6, sizeof *values, order);
  for (int i = 1; i < 6; i++) assert(values[i - 1] < values[i]);
  assert(bsearch(&key, values, 6, sizeof *values, order) == &values[4]);
}

static void strings(void) {
  char words[] = "a,b;c", *rest, *word = strtok_r(words, ",;", &rest);
  assert(strcmp(word, "a") == 0 && strcmp(strtok_r(0, ",;", &rest), "b") == 0);
  assert(strstr("hello world", "o w") && strchr("abc", 'c') && !strrchr("abc", 'd'));
  assert(strncmp("abc", "abd", 2) == 0 && strcmp("abc", "abd") < 0 && strcasecmp("ABC", "abc") == 0);
  char *copy = strdup("copy"), joined[20] = "x";
  assert(memcmp(copy, "copy", 5) == 0);
  assert(strcmp(strncat(strcat(joined, copy), "12345", 2), "xcopy12") == 0);
  free(copy);
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, writer, 0);
  size_t length = strlen(text);
  pthread_join(thread, 0);
  assert(length <= 2 && strcmp(text, "ab") == 0);
  formats();
  numbers();
  arrays();
  strings();
  return 0;
}
