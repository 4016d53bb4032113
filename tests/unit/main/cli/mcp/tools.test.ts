import { describe, expect, it } from 'vitest';
import { toolsOf } from '../../../../../main/cli/mcp/tools.ts';
import { describeCalls } from '../../../../../main/http/docs/openapi.ts';
import { type Permission, permissions } from '../../../../../protocol/call.ts';
import { everyCall } from '../../../../support/every-call.ts';

const document: unknown = JSON.parse(JSON.stringify(describeCalls(everyCall, '1.2.3')));
const namesFor = (mayWrite: boolean, ...ownPermissions: readonly Permission[]): readonly string[] =>
  toolsOf(document, { permissions: ownPermissions, mayWrite }).map(({ definition }) => definition.name);

describe('toolsOf', () => {
  it('offers only GET operations when writing is not allowed', () => {
    const tools = toolsOf(document, { permissions, mayWrite: false });
    expect(new Set(tools.map(({ operation }) => operation.method))).toEqual(new Set(['GET']));
    expect(namesFor(false, ...permissions)).toEqual(
      expect.arrayContaining(['listJobs', 'getJob', 'explainJob']),
    );
  });

  it('offers only operations that the permissions allow', () => {
    expect(namesFor(true, 'admin.audit')).not.toContain('listJobs');
    expect(namesFor(true, 'queue.view.own')).toContain('listOwnJobs');
    expect(namesFor(true)).toEqual([]);
  });

  it('offers no operation that transfers binary data, streams without end, or returns a new token', () => {
    const all = namesFor(true, ...permissions);
    for (const name of ['downloadArtifact', 'streamEvents', 'followLog', 'createToken', 'createWorker'])
      expect(all).not.toContain(name);
    expect(all).toContain('submitJob');
  });

  it('throws for an invalid OpenAPI document', () => {
    expect(() => toolsOf({ paths: [] }, { permissions, mayWrite: true })).toThrow('paths');
  });
});
