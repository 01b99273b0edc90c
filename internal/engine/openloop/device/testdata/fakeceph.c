// A fake librados and librbd in one library. Operations are done by a thread of the library, after 2 ms each, in the
// order of their submission. Reads return a pattern, which tests of the arguments need. Each image and pool keeps its
// bytes in one array.
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { SIZE = 1 << 20, MOST = 1 << 15 };

struct image {
	int fd;
	char data[SIZE];
	struct completion *done[MOST];
	int ndone;
};

struct completion {
	void *arg;
	void (*callback)(void *, void *);
	long result;
	struct image *image;
	struct timespec at;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct completion *queue[MOST];
static int head, tail;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void *work(void *unused) {
	for (;;) {
		pthread_mutex_lock(&lock);
		while (head == tail)
			pthread_cond_wait(&changed, &lock);
		struct completion *c = queue[head++ % MOST];
		pthread_mutex_unlock(&lock);
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &c->at, NULL);
		if (c->callback) {
			c->callback(c, c->arg);
			continue;
		}
		pthread_mutex_lock(&lock);
		c->image->done[c->image->ndone++] = c;
		pthread_mutex_unlock(&lock);
		uint64_t one = 1;
		if (write(c->image->fd, &one, sizeof one) < 0)
			abort();
	}
	return unused;
}

static void begin(void) {
	pthread_t thread;
	pthread_create(&thread, NULL, work, NULL);
}

static int submit(struct completion *c) {
	pthread_once(&once, begin);
	clock_gettime(CLOCK_MONOTONIC, &c->at);
	c->at.tv_nsec += 2000000;
	if (c->at.tv_nsec >= 1000000000) {
		c->at.tv_nsec -= 1000000000;
		c->at.tv_sec++;
	}
	pthread_mutex_lock(&lock);
	queue[tail++ % MOST] = c;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
	return 0;
}

static struct completion *create(void *arg, void (*callback)(void *, void *)) {
	struct completion *c = calloc(1, sizeof *c);
	c->arg = arg;
	c->callback = callback;
	return c;
}

int rados_create(void **cluster, const char *id) {
	*cluster = strdup(id);
	return strcmp(id, "io") ? -EINVAL : 0;
}
int rados_conf_read_file(void *cluster, const char *path) { return path ? -EINVAL : 0; }
int rados_conf_set(void *cluster, const char *name, const char *value) { return 0; }
int rados_connect(void *cluster) { return 0; }
int rados_ioctx_create(void *cluster, const char *pool, void **io) {
	*io = calloc(1, sizeof(struct image));
	return strcmp(pool, "missing") ? 0 : -ENOENT;
}
int rados_aio_create_completion2(void *arg, void (*callback)(void *, void *), struct completion **c) {
	*c = create(arg, callback);
	return 0;
}
int rados_aio_read(struct image *io, const char *oid, struct completion *c, char *buffer, size_t length, uint64_t offset) {
	c->result = length;
	if (strncmp(oid, "obj.", 4) || atoi(oid + 4) > 3)
		c->result = -ENOENT;
	else
		memcpy(buffer, io->data + offset, length);
	return submit(c);
}
int rados_aio_write(struct image *io, const char *oid, struct completion *c, const char *buffer, size_t length, uint64_t offset) {
	memcpy(io->data + offset, buffer, length);
	return submit(c);
}
int rados_aio_get_return_value(struct completion *c) { return c->result; }
void rados_aio_release(struct completion *c) { free(c); }

int rbd_open(void *io, const char *name, struct image **image, const char *snap) {
	*image = calloc(1, sizeof **image);
	return strcmp(name, "image") || snap ? -ENOENT : 0;
}
int rbd_close(struct image *image) {
	free(image);
	return 0;
}
int rbd_set_image_notification(struct image *image, int fd, int type) {
	image->fd = fd;
	return type == 2 ? 0 : -EINVAL;
}
int rbd_poll_io_events(struct image *image, struct completion **completions, int most) {
	pthread_mutex_lock(&lock);
	int n = image->ndone < most ? image->ndone : most;
	memcpy(completions, image->done, n * sizeof *completions);
	image->ndone -= n;
	memmove(image->done, image->done + n, image->ndone * sizeof *completions);
	pthread_mutex_unlock(&lock);
	return n;
}
int rbd_aio_create_completion(void *arg, void (*callback)(void *, void *), struct completion **c) {
	*c = create(arg, callback);
	return callback ? -EINVAL : 0;
}
int rbd_aio_read(struct image *image, uint64_t offset, size_t length, char *buffer, struct completion *c) {
	if (offset + length > SIZE)
		return -EINVAL;
	c->image = image;
	c->result = length;
	memcpy(buffer, image->data + offset, length);
	return submit(c);
}
int rbd_aio_write(struct image *image, uint64_t offset, size_t length, const char *buffer, struct completion *c) {
	if (offset + length > SIZE)
		return -EINVAL;
	c->image = image;
	memcpy(image->data + offset, buffer, length);
	return submit(c);
}
void *rbd_aio_get_arg(struct completion *c) { return c->arg; }
long rbd_aio_get_return_value(struct completion *c) { return c->result; }
void rbd_aio_release(struct completion *c) { free(c); }
