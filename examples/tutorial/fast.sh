#!/bin/bash
seq 40 | xargs -P 2 -I{} sh -c 'seq $(({} * 10000)) | awk "{ print \$1 % 977 }" > part-{}'
seq 40 | xargs -P 2 -I{} sh -c 'awk "\$1 < 25 { n[\$1]++ } END { for (v in n) print v, n[v] }" part-{} | sort -n > counts-{}'
