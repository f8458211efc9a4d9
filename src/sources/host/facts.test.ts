import assert from 'node:assert/strict';
import test from 'node:test';
import { fixture, frozen } from '../../../test/frozen.ts';
import { countList, nodeFacts } from './facts.ts';

test('a small machine with a memory limit above the process', () => {
  assert.deepEqual(nodeFacts(fixture('host-small')), {
    hostname: 'laptop',
    kernel: '6.12.48+deb13-amd64',
    architecture: 'x86_64',
    cpus: 2,
    memory_bytes: 4028544 * 1024,
    page_bytes: 4096,
    gpus: [],
    cpu_model: 'AMD EPYC',
    sockets: 1,
    boot_time: 1762380000 * 1e6,
    allowed_cpus: 2,
    memory_limit_bytes: 2 * 2 ** 30,
  });
});

test('two sockets with a CPU offline, and the job’s share by cgroup v1', () => {
  const facts = nodeFacts(fixture('host-gpu-node'));
  assert.equal(facts.cpus, 63);
  assert.equal(facts.sockets, 2);
  assert.equal(facts.cpu_model, 'INTEL(R) XEON(R) PLATINUM 8462Y+');
  assert.equal(facts.allowed_cpus, 16 + 5 + 10);
  assert.equal(facts.memory_limit_bytes, 256 * 2 ** 30);
});

test('no limit is no fact; sockets of machines whose cpuinfo does not name them', (t) => {
  const { host } = frozen(t, {
    '/proc/meminfo': 'MemTotal: 1024 kB\n',
    '/proc/self/cgroup': '0::/job\n',
    '/sys/fs/cgroup/job/memory.max': 'max\n',
    '/sys/devices/system/cpu/online': '0-1\n',
    '/sys/devices/system/cpu/cpu0/topology/physical_package_id': '0\n',
    '/sys/devices/system/cpu/cpu1/topology/physical_package_id': '36\n',
  });
  const facts = nodeFacts(host);
  assert.equal('memory_limit_bytes' in facts, false);
  assert.equal('cpu_model' in facts, false);
  assert.equal(facts.sockets, 2);
});

test('lists of the kernel', () => {
  assert.equal(countList('0-3,8,10-11'), 7);
  assert.equal(countList('5'), 1);
  assert.equal(countList(''), 0);
  assert.equal(countList(undefined), 0);
});
