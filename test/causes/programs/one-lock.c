/* one-lock THREADS SECONDS: threads that do nearly all of their work under one lock. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t m=PTHREAD_MUTEX_INITIALIZER; static volatile double x; static double secs;
static double now(){struct timespec t;clock_gettime(CLOCK_MONOTONIC,&t);return t.tv_sec+t.tv_nsec*1e-9;}
static void*w(void*a){double e=now()+secs;while(now()<e){pthread_mutex_lock(&m);for(int i=0;i<300000;i++)x+=i;pthread_mutex_unlock(&m);for(volatile int i=0;i<3000;i++);}return 0;}
int main(int c,char**v){int n=atoi(v[1]);secs=atof(v[2]);pthread_t t[64];for(int i=0;i<n;i++)pthread_create(t+i,0,w,0);for(int i=0;i<n;i++)pthread_join(t[i],0);}
