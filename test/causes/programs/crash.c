/* crash: uses memory that is not there. */
int main(void) {
    volatile int *nowhere = 0;
    return *nowhere;
}
