import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { createAddressPolicy, normalAddress } from '../../server/outbound/addresses.ts';

const open = createAddressPolicy({ allow: [] });

const REFUSED = `
0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 100.127.255.255 127.0.0.1 127.1.2.3
127.255.255.254 169.254.0.1 169.254.169.254 169.254.170.2 172.16.0.1 172.31.255.255 192.0.0.1 192.0.0.170
192.0.0.192 192.0.2.1 192.31.196.1 192.52.193.1 192.88.99.1 192.168.0.1 192.168.255.255 192.175.48.1 198.18.0.1
198.19.255.255 198.51.100.7 203.0.113.9 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.254 255.255.255.255
168.63.129.16 :: ::1 ::2 ::127.0.0.1 ::7f00:1 ::8.8.8.8 ::ffff:0.0.0.0 ::ffff:10.0.0.1 ::ffff:127.0.0.1
::ffff:7f00:1 ::ffff:169.254.169.254 ::ffff:168.63.129.16 ::ffff:0:127.0.0.1 64:ff9b::7f00:1 64:ff9b::10.0.0.1
64:ff9b::8.8.8.8 64:ff9b:1::1 100::1 100:0:0:1::1 2001::1 2001:0:7f00:1:: 2001:0:4136:e378:8000:63bf:3fff:fdd2
2001:2::1 2001:3::1 2001:4:112::1 2001:10::1 2001:20::1 2001:30::1 2001:1ff::1 2001:db8::1 2002:7f00:1::
2002:a00:1::1 2002:808:808::1 2620:4f:8000::1 3fff::1 3fff:fff::1 4000::1 5f00::1 8000::1 fc00::1 fd00::1
fd00:ec2::254 fe80::1 febf::1 fec0::1 ff02::1 ff0e::1 2606:4700::5efe:7f00:1 2606:4700::200:5efe:a00:1
fe80::1%eth0 2606:4700::1%eth0 1.2.3 0x7f.0.0.1 0177.0.0.1 2130706433 127.1 8.8.8.8:443 [::1] localhost 8.8.8.8.
`
  .trim()
  .split(/\s+/);

const PERMITTED = `
1.1.1.1 8.8.8.8 9.9.9.9 11.0.0.1 100.63.255.255 100.128.0.1 126.255.255.255 128.0.0.1 169.253.255.255
172.15.255.255 172.32.0.1 192.0.1.1 192.167.255.255 192.169.0.1 198.17.255.255 198.20.0.1 223.255.255.254
::ffff:8.8.8.8 2606:4700:4700::1111 2001:4860:4860::8888 2400:cb00::1 2a00:1450::1 2003::1
`
  .trim()
  .split(/\s+/);

describe('without anything allowed', () => {
  test('the tables are as long as they should be', () => {
    expect(new Set(REFUSED).size).toBeGreaterThan(90);
    expect(new Set(PERMITTED).size).toBeGreaterThan(20);
  });
  test('public addresses are permitted, and no others', () => {
    expect(REFUSED.filter((address) => open.permits(address))).toEqual([]);
    expect(PERMITTED.filter((address) => !open.permits(address))).toEqual([]);
  });
  test('empty, blank and over-long texts are refused', () => {
    for (const text of ['', ' ', ' 8.8.8.8', '8.8.8.8\n', '8'.repeat(10_000), '8.8.8.8\0']) {
      expect(open.permits(text)).toBe(false);
    }
  });
});

describe('with blocks allowed', () => {
  const policy = createAddressPolicy({ allow: ['10.1.0.0/16', 'fd00::/8', '127.0.0.1/32'] });
  test('they are permitted besides', () => {
    const inside = ['10.1.0.1', '10.1.255.255', '::ffff:10.1.2.3', 'fd12::1', '127.0.0.1', '8.8.8.8'];
    expect(inside.filter((address) => !policy.permits(address))).toEqual([]);
    const outside = [
      '10.2.0.1',
      '10.0.255.255',
      'fc00::1',
      '127.0.0.2',
      '::1',
      '64:ff9b::10.1.0.1',
      'fd12::1%lo',
    ];
    expect(outside.filter((address) => policy.permits(address))).toEqual([]);
  });
});

test('an IPv4 address and the same mapped into IPv6 are judged alike and have one spelling', () => {
  fc.assert(
    fc.property(fc.ipV4(), (address) => {
      expect(open.permits(`::ffff:${address}`)).toBe(open.permits(address));
      expect(normalAddress(`::ffff:${address}`)).toBe(address);
    }),
  );
});

test('the answer for an address stays the same, however many are asked for in between', () => {
  const policy = createAddressPolicy({ allow: ['10.1.0.0/16'] });
  for (let round = 0; round < 2; round += 1) {
    for (let at = 0; at < 2_500; at += 1) {
      const rest = `${at >> 8}.${at & 255}`;
      expect([policy.permits(`10.1.${rest}`), policy.permits(`10.2.${rest}`)]).toEqual([true, false]);
    }
  }
});

test('no IPv6 address outside 2000::/3 is permitted', () => {
  fc.assert(
    fc.property(fc.ipV6(), (address) => {
      const normal = normalAddress(address) ?? '';
      if (open.permits(address) && normal.includes(':')) {
        expect(normal).toMatch(/^[23][0-9a-f]{3}:/);
      }
    }),
  );
});
