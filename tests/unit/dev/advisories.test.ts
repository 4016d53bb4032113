import { describe, expect, it } from 'vitest';
import { judgeAudit } from '../../../dev/advisories.ts';

/** The report format of npm 11. */
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

describe('a report', () => {
  it('without holes is clean', () => {
    expect(judgeAudit(report({}))).toEqual({ kind: 'clean', minor: 0 });
  });

  it('of lesser ones is clean, too', () => {
    expect(judgeAudit(report({ a: 'low', b: 'moderate', c: 'info' }))).toEqual({ kind: 'clean', minor: 3 });
  });

  it.each(['high', 'critical'])('of a %s one names the package and its versions', severity => {
    expect(judgeAudit(report({ a: 'low', b: severity }))).toEqual({
      kind: 'holes',
      packages: [`b <1.2.3 (${severity})`],
    });
  });

  it('that is an error is told by its message', () => {
    const message = '405 Method Not Allowed - POST https://registry.test/bulk';
    expect(judgeAudit(JSON.stringify({ message, error: {} }))).toEqual({ kind: 'unanswered', why: message });
  });

  it.each([
    ['nothing', ''],
    ['an error', '{"message":"405 Method Not Allowed - POST https://registry.test/bulk","error":{}}'],
    ['no JSON', '<html>'],
    ['a severity of later', report({ a: 'apocalyptic' })],
    ['a report of another version', '{"auditReportVersion":3,"vulnerabilities":{}}'],
  ])('that is %s says nothing, and is not taken for a clean one', (_what, text) => {
    expect(judgeAudit(text)).toMatchObject({ kind: 'unanswered' });
  });
});
