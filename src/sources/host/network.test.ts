import assert from 'node:assert/strict';
import test from 'node:test';
import { fixture, frozen, openOn, sample } from '../../../test/frozen.ts';
import { Frame } from '../../table/frame.ts';
import { network } from './network.ts';

const HEADINGS = 'Inter-|   Receive  |  Transmit\n face |bytes packets |bytes packets\n';
const line = (name: string, received: number, sent: number) =>
  `${name.padStart(6)}: ${received} 2 3 4 0 0 0 5 ${sent} 7 8 9 0 0 0 0\n`;

test('an Ethernet interface: bytes, packets, errors, drops, and what the link can carry', () => {
  const rows = sample(openOn(network, fixture('host-gpu-node')));
  assert.deepEqual(
    rows.find((row) => row.interface === 'eno1'),
    {
      interface: 'eno1',
      class: 'ethernet',
      received_bytes: 99120331442,
      sent_bytes: 12033144201,
      received_packets: 81203314,
      sent_packets: 44120331,
      receive_errors: 0,
      send_errors: 0,
      receive_drops: 1204,
      send_drops: 0,
      multicast_packets: 33120,
      link_rate_bytes: 25e9 / 8,
    },
  );
});

test('the class says whose traffic is repeated by another row', () => {
  const classes = (name: string) =>
    Object.fromEntries(sample(openOn(network, fixture(name))).map((row) => [row.interface, row.class]));
  assert.deepEqual(classes('host-gpu-node'), {
    lo: 'loopback',
    eno1: 'ethernet',
    eno2: 'ethernet',
    ib0: 'ipoib',
    enp65s0np0: 'ethernet',
    docker0: 'virtual',
    'mlx5_0:1': 'infiniband',
    'mlx5_1:1': 'roce',
  });
  assert.deepEqual(classes('host-cray'), {
    lo: 'loopback',
    nmn0: 'ethernet',
    hsn0: 'cxi-ethernet',
    hsn1: 'cxi-ethernet',
    cxi0: 'cxi',
    cxi1: 'cxi',
  });
});

test('of virtual interfaces, those that run over others or below a bridge are told apart', (t) => {
  const net = '/sys/class/net';
  const names = ['br0', 'veth1', 'eth0', 'eth0.5', 'wg0', 'tap0'];
  const { host } = frozen(t, {
    '/proc/net/dev': HEADINGS + names.map((name) => line(name, 10, 20)).join(''),
    ...Object.fromEntries(names.slice(0, 5).map((name) => [`${net}/${name}/type`, name === 'wg0' ? '65534\n' : '1\n'])),
    [`${net}/br0/bridge/bridge_id`]: '8000\n',
    [`${net}/br0/lower_veth1/type`]: '1\n',
    [`${net}/veth1/brport/port_no`]: '0x1\n',
    [`${net}/eth0.5/lower_eth0/type`]: '1\n',
  });
  assert.deepEqual(Object.fromEntries(sample(openOn(network, host)).map((row) => [row.interface, row.class])), {
    br0: 'virtual',
    veth1: 'stacked',
    eth0: 'virtual',
    'eth0.5': 'stacked',
    wg0: 'stacked',
    tap0: 'virtual',
  });
});

test('InfiniBand counts words of four bytes; a RoCE port tells about congestion', () => {
  const rows = sample(openOn(network, fixture('host-gpu-node')));
  const infiniband = rows.find((row) => row.interface === 'mlx5_0:1')!;
  assert.equal(infiniband.received_bytes, 1120331442017 * 4);
  assert.equal(infiniband.sent_bytes, 1098220331442 * 4);
  assert.equal(infiniband.send_wait, 88120331);
  assert.equal(infiniband.send_drops, 3);
  assert.equal(infiniband.link_rate_bytes, 25e9);
  const roce = rows.find((row) => row.interface === 'mlx5_1:1')!;
  assert.equal(roce.retransmissions, 7 + 2 + 1);
  assert.equal(roce.out_of_sequence, 41);
  assert.equal(roce.congestion_marks, 5120);
  assert.equal(roce.congestion_notices, 812);
  // "N/A (no PMA)"
  assert.equal('send_wait' in roce, false);
});

test('counters of 64 bits are preferred where the others have 32', (t) => {
  const port = '/sys/class/infiniband/qib0/ports/1';
  const { host } = frozen(t, {
    '/proc/net/dev': HEADINGS,
    [`${port}/counters/port_rcv_data`]: '4294967295\n',
    [`${port}/counters_ext/port_rcv_data_64`]: '5000000000\n',
    [`${port}/counters/port_xmit_data`]: '17\n',
  });
  const [row] = sample(openOn(network, host));
  assert.equal(row!.received_bytes, 20e9);
  assert.equal(row!.sent_bytes, 68);
});

test('Slingshot: exact octets, packets summed over traffic classes', () => {
  const row = sample(openOn(network, fixture('host-cray'))).find((one) => one.interface === 'cxi1');
  assert.deepEqual(row, {
    interface: 'cxi1',
    class: 'cxi',
    received_bytes: 91203314420118,
    sent_bytes: 88120331442018,
    received_packets: 2000 * 28 + 8,
    sent_packets: 1000 * 28 + 8,
    receive_errors: 0,
    receive_drops: 1,
    pause_received: 5,
    pause_sent: 44,
  });
});

test('a renamed interface is a new row, and a wide number may touch its name', (t) => {
  const machine = frozen(t, { '/proc/net/dev': HEADINGS + line('eth0', 10, 20) + line('eth1', 30, 40) });
  const source = openOn(network, machine.host);
  const frame = new Frame(source.table);
  const interfaceBytes = () => sample(source, frame).map((row) => [row.interface, row.received_bytes, row.sent_bytes]);
  assert.deepEqual(interfaceBytes(), [
    ['eth0', 10, 20],
    ['eth1', 30, 40],
  ]);
  machine.write('/proc/net/dev', HEADINGS + line('eth01', 11, 21).replace(': ', ':') + line('eth1', 31, 41));
  assert.deepEqual(interfaceBytes(), [
    ['eth01', 11, 21],
    ['eth1', 31, 41],
  ]);
  machine.write('/proc/net/dev', HEADINGS + line('eth1', 32, 42));
  assert.deepEqual(interfaceBytes(), [['eth1', 32, 42]]);
});

test('error counters of adapters are read every tenth time, traffic every time', (t) => {
  const port = '/sys/class/infiniband/mlx5_0/ports/1/counters';
  const machine = frozen(t, {
    '/proc/net/dev': HEADINGS,
    [`${port}/port_rcv_data`]: '1\n',
    [`${port}/symbol_error`]: '0\n',
  });
  const source = openOn(network, machine.host);
  const read = () => sample(source).map((row) => [row.received_bytes, row.symbol_errors])[0];
  assert.deepEqual(read(), [4, 0]);
  machine.write(`${port}/port_rcv_data`, '2\n');
  machine.write(`${port}/symbol_error`, '9\n');
  for (let i = 1; i < 10; i++) assert.deepEqual(read(), [8, 0]);
  assert.deepEqual(read(), [8, 9]);
});

test('an adapter that stops answering has no row; one that is plugged in later gets one', (t) => {
  const port = '/sys/class/infiniband/mlx5_0/ports/1/counters';
  const machine = frozen(t, { '/proc/net/dev': HEADINGS, [`${port}/port_rcv_data`]: '1\n' });
  const source = openOn(network, machine.host);
  assert.equal(sample(source).length, 1);
  machine.write(`${port}/port_rcv_data`, '');
  assert.equal(sample(source).length, 0);
  machine.write('/sys/class/cxi/cxi0/device/telemetry/hni_sts_rx_ok_octets', '7@1.5\n');
  const later = Array.from({ length: 60 }, () => sample(source)).at(-1);
  assert.deepEqual(later, [{ interface: 'cxi0', class: 'cxi', received_bytes: 7 }]);
});

test('an adapter without counters is noted', (t) => {
  const { host } = frozen(t, {
    '/proc/net/dev': HEADINGS,
    '/sys/class/infiniband/mlx5_9/ports/1/state': '4: ACTIVE\n',
  });
  sample(openOn(network, host));
  assert.deepEqual(
    host.notes.map((note) => note.what),
    ['mlx5_9:1'],
  );
});
