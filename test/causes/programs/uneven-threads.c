/* uneven-threads SECONDS…: a thread for each of them, which uses so much CPU time. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
static double cpu(){struct timespec t;clock_gettime(CLOCK_THREAD_CPUTIME_ID,&t);return t.tv_sec+t.tv_nsec*1e-9;}
static void*w(void*a){double s=*(double*)a;volatile double x=0;while(cpu()<s)for(int i=0;i<1000;i++)x+=i;return 0;}
int main(int c,char**v){pthread_t t[64];double s[64];for(int i=1;i<c;i++){s[i]=atof(v[i]);pthread_create(t+i,0,w,s+i);}for(int i=1;i<c;i++)pthread_join(t[i],0);}
