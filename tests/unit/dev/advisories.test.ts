import { describe, expect, it } from 'vitest';
import { judgeAudit } from '../../../dev/advisories.ts';

/** A report in the format of npm 11. */
const report = (severities: Readonly<Record<string, string>>): string =>
  JSON.stringify({
    auditReportVersion: 2,
    vulnerabilities: Object.fromEntries(
      Object.entries(severities).map(([name, severity]) => [
        name,
        {
          name,
          severity,
          isDirect: false,
          via: ['x'],
          effects: [],
          range: '<1.2.3',
          nodes: [],
          fixAvailable: true,
        },
      ]),
    ),
    metadata: { vulnerabilities: {}, dependencies: {} },
  });

describe('judgeAudit', () => {
  it('judges a report without vulnerabilities as clean', () => {
    expect(judgeAudit(report({}))).toEqual({ kind: 'clean', minor: 0 });
  });

  it('judges a report with only info, low and moderate advisories as clean', () => {
    expect(judgeAudit(report({ a: 'low', b: 'moderate', c: 'info' }))).toEqual({ kind: 'clean', minor: 3 });
  });

  it.each(['high', 'critical'])('returns the package and versions of a %s advisory', severity => {
    expect(judgeAudit(report({ a: 'low', b: severity }))).toEqual({
      kind: 'vulnerable',
      packages: [`b <1.2.3 (${severity})`],
    });
  });

  it('returns the message of an error response as the reason', () => {
    const message = '405 Method Not Allowed - POST https://registry.test/bulk';
    expect(judgeAudit(JSON.stringify({ message, error: {} }))).toEqual({ kind: 'unanswered', why: message });
  });

  it.each([
    ['an empty string', ''],
    [
      'an error response',
      '{"message":"405 Method Not Allowed - POST https://registry.test/bulk","error":{}}',
    ],
    ['HTML instead of JSON', '<html>'],
    ['an unknown severity', report({ a: 'apocalyptic' })],
    ['an unknown report version', '{"auditReportVersion":3,"vulnerabilities":{}}'],
  ])('returns "unanswered" for %s', (_title, text) => {
    expect(judgeAudit(text)).toMatchObject({ kind: 'unanswered' });
  });
});
