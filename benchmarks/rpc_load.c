/* A load client for one Unix socket: keeps `depth` requests in flight and times each.
 *
 * usage: rpc_load SOCKET lines|headers DEPTH COUNT BODY
 *
 * Each request gets an id of its own, in place of 10000000 in BODY.
 * `lines` frames each message by a newline, `headers` by Content-Length. Prints the median and the
 * 99th percentile of the latency in nanoseconds, and the requests a second.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define LARGEST_DEPTH 1024
#define INPUT_BYTES (1 << 20)

static char input[INPUT_BYTES];
static size_t filled;

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static int by_value(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* The length of the first whole message in the input, or 0. */
static size_t message_length(int headers) {
    if (!headers) {
        char *end = memchr(input, '\n', filled);
        return end ? (size_t)(end - input) + 1 : 0;
    }
    char *body = memmem(input, filled, "\r\n\r\n", 4);
    char *length = memmem(input, filled, "Content-Length: ", 16);
    if (!body || !length) return 0;
    size_t whole = (size_t)(body + 4 - input) + strtoul(length + 16, NULL, 10);
    return whole <= filled ? whole : 0;
}

/* Read at least one message; return how many came. */
static int receive(int fd, int headers) {
    int messages = 0;
    while (!messages) {
        ssize_t got = read(fd, input + filled, INPUT_BYTES - filled);
        if (got <= 0) fail("read");
        filled += (size_t)got;
        size_t length;
        while ((length = message_length(headers))) {
            if (memmem(input, length, "\"error\"", 7)) {
                fprintf(stderr, "%.*s\n", (int)length, input);
                exit(1);
            }
            memmove(input, input + length, filled - length);
            filled -= length;
            messages++;
        }
    }
    return messages;
}

static void send_all(int fd, const char *data, size_t size) {
    while (size) {
        ssize_t sent = write(fd, data, size);
        if (sent <= 0) fail("write");
        data += sent;
        size -= (size_t)sent;
    }
}

/* Send the next `count` requests; `frames` holds copies of one, `size` bytes each. */
static void send_requests(int fd, char *frames, size_t size, size_t id_at, int first, int count) {
    for (int i = 0; i < count; i++) {
        int id = 10000000 + first + i;
        for (char *digit = frames + (size_t)i * size + id_at + 7; id; id /= 10)
            *digit-- = (char)('0' + id % 10);
    }
    send_all(fd, frames, size * (size_t)count);
}

static int connected(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address)) fail("connect");
    return fd;
}

int main(int argc, char **argv) {
    if (argc != 6) return 2;
    int headers = !strcmp(argv[2], "headers"), depth = atoi(argv[3]), count = atoi(argv[4]);
    if (depth < 1 || depth > LARGEST_DEPTH || count < depth) return 2;
    size_t room = strlen(argv[5]) + 64;
    char *one = malloc(room), *many = malloc(room * (size_t)depth);
    size_t size = headers ? (size_t)snprintf(one, room, "Content-Length: %zu\r\n\r\n%s",
                                             strlen(argv[5]), argv[5])
                          : (size_t)snprintf(one, room, "%s\n", argv[5]);
    char *id = strstr(one, "10000000");
    if (!id) return 2;
    size_t id_at = (size_t)(id - one);
    for (int i = 0; i < depth; i++) memcpy(many + (size_t)i * size, one, size);
    uint64_t *started = malloc(sizeof(uint64_t) * (size_t)count);
    uint64_t *taken = malloc(sizeof(uint64_t) * (size_t)count);
    int fd = connected(argv[1]), sent = depth, answered = 0;
    uint64_t begun = now();
    for (int i = 0; i < depth; i++) started[i] = begun;
    send_requests(fd, many, size, id_at, 0, depth);
    while (answered < count) {
        int messages = receive(fd, headers);
        uint64_t time = now();
        for (int i = 0; i < messages; i++, answered++) taken[answered] = time - started[answered];
        int more = messages < count - sent ? messages : count - sent;
        if (!more) continue;
        time = now();
        for (int i = 0; i < more; i++) started[sent + i] = time;
        send_requests(fd, many, size, id_at, sent, more);
        sent += more;
    }
    uint64_t whole = now() - begun;
    qsort(taken, (size_t)count, sizeof *taken, by_value);
    printf("{\"p50_ns\": %llu, \"p99_ns\": %llu, \"per_second\": %.0f}\n",
           (unsigned long long)taken[count / 2], (unsigned long long)taken[(size_t)count * 99 / 100],
           count / ((double)whole / 1e9));
    return 0;
}
