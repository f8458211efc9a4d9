#!/bin/bash
# counts how often each value is in 40 files
for i in $(seq 40); do seq $((i * 10000)) | awk '{ print $1 % 977 }' > part-$i; done
for i in $(seq 40); do
  for value in $(seq 0 24); do
    echo "$value $(grep -c "^$value\$" part-$i)" >> counts-$i
  done
done
