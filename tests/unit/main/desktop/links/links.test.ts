import { describe, expect, test } from 'vitest';
import { linkAmong, parseLink } from '../../../../../main/desktop/links/links.ts';

const pin = `sha256:${'A+/b'.repeat(10)}AbA=`;

describe('parseLink', () => {
  test.each([
    ['trainyard://job/j_abc', '/jobs/j_abc'],
    ['trainyard://job/j_abc/', '/jobs/j_abc'],
    ['TRAINYARD://Worker/w_1-x', '/workers/w_1-x'],
    ['trainyard://open/new-job', '/jobs/new'],
    ['trainyard://open/jobs', '/jobs'],
    ['trainyard://open/workers', '/workers'],
  ])('maps the link %s to the page %s', (link, page) =>
    expect(parseLink(link)).toEqual({ kind: 'page', page }),
  );

  test.each([
    'trainyard://job/',
    'trainyard://job/..',
    'trainyard://job/a/../../settings',
    'trainyard://job/a?x=1',
    'trainyard://job/a#sign-in=code',
    `trainyard://job/${'a'.repeat(65)}`,
    'trainyard://settings/x',
    'trainyard://open/settings',
    'trainyard://open/toString',
    'trainyard://job/%2e%2e',
    'trainyard://join',
    'https://job/j_abc',
    ' trainyard://job/j_abc',
    '',
  ])('ignores the link %j', link => expect(parseLink(link)).toBeNull());

  test.each([
    ['address=https%3A%2F%2Frig.lan%3A8001', 'https://rig.lan:8001', ''],
    ['address=http://rig.lan:8001/', 'http://rig.lan:8001', ''],
    ['address=https://rig.lan/trainyard/', 'https://rig.lan/trainyard', ''],
    [`pin=${encodeURIComponent(pin)}&address=https://rig.lan:8001`, 'https://rig.lan:8001', pin],
    [`address=https://rig.lan:8001&pin=${pin}`, 'https://rig.lan:8001', pin],
  ])('offers to add the fleet of the link join?%s', (query, url, expectedPin) =>
    expect(parseLink(`trainyard://join?${query}`)).toEqual({ kind: 'join', url, pin: expectedPin }),
  );

  test.each([
    'address=https://rig.lan&token=abc',
    'address=https://rig.lan&API_TOKEN=abc',
    'address=https://rig.lan&password=abc',
    'address=https://ada:secret@rig.lan',
    'address=https://ada@rig.lan',
    `address=https://rig.lan&pin=tk_${'a'.repeat(30)}`,
    `address=https://rig.lan/%3Ft=tk_${'a'.repeat(30)}`,
    'address=https://rig.lan&note=Bearer%20abc',
  ])('refuses the link join?%s because it contains a token or password', query =>
    expect(parseLink(`trainyard://join?${query}`)).toEqual({ kind: 'refused', problem: 'token' }),
  );

  test.each([
    '',
    'pin=x',
    'address=rig.lan',
    'address=file:///etc/passwd',
    'address=javascript:alert(1)',
    'address=https://rig.lan?x=1%26y',
    'address=https://rig.lan%23part',
    'address=https://rig.lan%0aPin: none',
    'address=https://rіg.lan',
    'address=https://a.lan&address=https://b.lan',
    'address=https://rig.lan&name=Lab',
    'address=https://rig.lan&pin=',
    'address=https://rig.lan&pin=sha256:short',
    `address=https://rig.lan&pin=${pin},${pin}`,
    `address=http://rig.lan&pin=${pin}`,
  ])('refuses the invalid link join?%s', query =>
    expect(parseLink(`trainyard://join?${query}`)).toEqual({ kind: 'refused', problem: 'invalid' }),
  );
});

test.each([
  ['address', `address=https://rig.lan/${'a'.repeat(500)}`],
  ['link', `address=https://rig.lan&pin=${'a'.repeat(1_000)}`],
])('refuses a join link whose %s is too long', (_part, query) =>
  expect(parseLink(`trainyard://join?${query}`)).toEqual({ kind: 'refused', problem: 'invalid' }),
);

test('accepts an address whose path only resembles a token', () =>
  expect(parseLink('trainyard://join?address=https://rig.lan/my_training_server_at_home')).toMatchObject({
    kind: 'join',
  }));

test('finds the trainyard link among other arguments', () => {
  expect(linkAmong(['/opt/trainyard', '--no-sandbox', 'trainyard://job/j_1'])).toBe('trainyard://job/j_1');
  expect(linkAmong(['/opt/trainyard', 'other://x'])).toBeNull();
  expect(linkAmong(['/opt/trainyard', '--', 'trainyard://job/j_1'])).toBe('trainyard://job/j_1');
});
