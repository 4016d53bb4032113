import { sessionApi } from '../../../../protocol/session-api.ts';
import { tokensApi } from '../../../../protocol/tokens-api.ts';
import { Allowed } from '../../../app/guarded.tsx';
import { Sessions } from '../sessions.tsx';
import { Tokens } from '../tokens.tsx';

/** Browser sessions and API tokens. */
export const AccessTopic = () => (
  <>
    <Allowed call={sessionApi.list}>
      <Sessions />
    </Allowed>
    <Allowed call={tokensApi.list}>
      <Tokens />
    </Allowed>
  </>
);
