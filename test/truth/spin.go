package main

import (
	"os"
	"strconv"
	"sync"
	"syscall"
)

// Uses as much CPU time as the first word says, in as many goroutines as the second.
func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	routines, _ := strconv.Atoi(os.Args[2])
	var group sync.WaitGroup
	for i := 0; i < routines; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for used() < seconds {
				for k := 0; k < 100000; k++ {
				}
			}
		}()
	}
	group.Wait()
}

func used() float64 {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return float64(usage.Utime.Sec+usage.Stime.Sec) + float64(usage.Utime.Usec+usage.Stime.Usec)/1e6
}
