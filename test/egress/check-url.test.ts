import { describe, expect, test } from 'vitest'
import { parseAllowList } from '../../src/egress/allow-list.ts'
import { checkUrl } from '../../src/egress/check-url.ts'
import type { BlockReason } from '../../src/egress/check-url.ts'

const NOTHING = parseAllowList('egress.allow', [])

/** URLs in every notation that an attacker has got past a check with. */
const BLOCKED: Readonly<Partial<Record<BlockReason, readonly string[]>>> = {
  loopback: [
    'https://127.0.0.1/',
    'https://127.1/',
    'https://127.0.1/',
    'https://2130706433/',
    'https://0x7f000001/',
    'https://0x7f.1/',
    'https://0x7F.0x0.0x0.0x1/',
    'https://0177.0.0.1/',
    'https://017700000001/',
    'https://00000177.1/',
    'https://127.0.0.1./',
    'https://127.1./',
    'https://①②⑦.0.0.1/',
    'https://１２７.０.０.１/',
    'https://127。0。0。1/',
    'https://127.0.0.1%2e/',
    'https://%31%32%37.0.0.1/',
    'https://[::1]/',
    'https://[0:0:0:0:0:0:0:1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[::ffff:7f00:1]/',
    'https://[::FFFF:7F00:0001]/',
    'https://[::127.0.0.1]/',
    'https://[64:ff9b::127.0.0.1]/',
    'https://[2002:7f00:1::]/',
    'https://localhost/',
    'https://LOCALHOST/',
    'https://localhost./',
    'https://a.localhost/',
    'https://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/',
    'https:127.0.0.1/',
    'https:\\\\127.0.0.1\\x',
    'https://127.0.0.1#@example.com/',
    'https://127.0.0.1\\@example.com/',
    'https://127.0.0.1?@example.com/',
    ' https://127.0.0.1/ ',
    'https://127.0.\n0.1/',
    'https://127.0.0.1:8443/',
    'http://127.0.0.1/',
  ],
  metadata: [
    'https://169.254.169.254/latest/meta-data/',
    'https://2852039166/',
    'https://0xa9fea9fe/',
    'https://0xA9.0xFE.0xA9.0xFE/',
    'https://0251.0376.0251.0376/',
    'https://169.254.43518/',
    'https://169.16689662/',
    'https://[::ffff:169.254.169.254]/',
    'https://[::ffff:a9fe:a9fe]/',
    'https://[64:ff9b::a9fe:a9fe]/',
    'https://[2002:a9fe:a9fe::]/',
    'https://[fd00:ec2::254]/',
    'https://168.63.129.16/',
    'https://100.100.100.200/',
  ],
  private: [
    'https://10.0.0.1/',
    'https://192.168.1.1/',
    'https://172.31.255.255/',
    'https://3232235777/',
  ],
  'carrier-nat': ['https://100.64.0.1/', 'https://0x64400001/'],
  'unique-local': ['https://[fd12:3456::1]/'],
  'link-local': ['https://[fe80::1]/', 'https://169.254.0.1/'],
  unspecified: ['https://0.0.0.0/', 'https://0/', 'https://0x0/', 'https://[::]/'],
  reserved: ['https://0.1.2.3/', 'https://[100::1]/'],
  multicast: ['https://224.0.0.1/', 'https://[ff02::1]/'],
  broadcast: ['https://255.255.255.255/', 'https://4294967295/'],
  documentation: ['https://192.0.2.1/', 'https://[2001:db8::1]/'],
  tunnel: ['https://[2001:0:4136:e378:8000:63bf:f7f7:f7f7]/', 'https://[2002:808:808::1]/'],
  scheme: [
    'http://example.com/',
    'file:///etc/passwd',
    'ftp://example.com/',
    'gopher://127.0.0.1:6379/_x',
    'data:text/plain,x',
    'javascript:alert(1)',
    'unix:/var/run/docker.sock',
    'blob:https://example.com/x',
    'ws://example.com/',
  ],
  credentials: [
    'https://user@example.com/',
    'https://user:password@example.com/',
    'https://:password@example.com/',
    'https://example.com@127.0.0.1/',
    'https://127.0.0.1@example.com/',
  ],
  host: [
    'https://intranet/',
    'https://metadata.google.internal/',
    'https://printer.local/',
    'https://router.lan/',
    'https://a.home.arpa/',
    'https://a..com/',
    'https://server.corp./',
  ],
  port: [
    'https://example.com:22/',
    'https://example.com:25/',
    'https://example.com:6379/',
    'https://example.com:11211/',
    'https://example.com:0/',
  ],
  url: [
    '',
    'example.com',
    '//example.com/',
    'https://',
    'https:///',
    'https://256.256.256.256/',
    'https://1.2.3.4.5/',
    'https://4294967296/',
    'https://0x100000000/',
    'https://127.0.0.08/',
    'https://[::1/',
    'https://[::1%25lo]/',
    'https://[fe80::1%eth0]/',
    'https://exa mple.com/',
    'https://exa<mple.com/',
    'https://example.com:99999/',
    'https://example.com:-1/',
    'https://a%00b.com/',
    'https://%2f/',
  ],
}

describe('a URL', () => {
  test.each(
    Object.entries(BLOCKED).flatMap(([reason, urls]) => urls.map((url) => [url, reason] as const)),
  )('%j is no destination: %s', (url, reason) => {
    expect(checkUrl(url, NOTHING)).toEqual({ ok: false, reason })
  })

  test.each([
    'https://example.com/webhooks?a=1',
    'https://example.com./',
    'https://EXAMPLE.com:8443/',
    'https://xn--bcher-kva.example.org/',
    'https://bücher.example.org/',
    'https://93.184.216.34/',
    'https://[2606:4700:4700::1111]/',
    'https://[64:ff9b::8.8.8.8]/',
    'https://localhost.example.org/',
    'https://127.0.0.1.nip.io/',
    'https://10.0.0.1.example.org/',
  ])('%s is one', (url) => {
    expect(checkUrl(url, NOTHING)).toMatchObject({ ok: true })
  })
})

describe('an allow-list', () => {
  const allowed = parseAllowList('egress.allow', [
    'localhost',
    'app.internal',
    '10.1.0.0/16',
    '::1',
  ])

  test.each([
    'http://localhost:3000/hooks',
    'http://LOCALHOST./hooks',
    'https://app.internal/',
    'http://10.1.2.3:6379/',
    'http://0x0a010203/',
    'http://[::1]:8080/',
  ])('lets %s be a destination', (url) => {
    expect(checkUrl(url, allowed)).toMatchObject({ ok: true })
  })

  test.each([
    ['http://127.0.0.1:3000/', 'loopback'],
    ['http://a.localhost/', 'loopback'],
    ['https://other.internal/', 'host'],
    ['http://10.2.0.1/', 'private'],
    ['http://[::ffff:10.1.2.3]/', 'private'],
    ['http://user@localhost/', 'credentials'],
    ['ftp://localhost/', 'scheme'],
  ])('leaves %s blocked', (url, reason) => {
    expect(checkUrl(url, allowed)).toEqual({ ok: false, reason })
  })

  test.each([
    '',
    '*',
    '10.0.0.0/33',
    '10.0.0.0/8/8',
    '127.1',
    'http://localhost',
    'localhost:3000',
    7,
  ])('refuses %j as an entry', (entry) => {
    expect(() => parseAllowList('egress.allow', [entry as string])).toThrow('egress.allow.0')
  })

  test('refuses what is no list', () => {
    expect(() => parseAllowList('egress.allow', 'localhost' as never)).toThrow('a list of hosts')
  })
})
