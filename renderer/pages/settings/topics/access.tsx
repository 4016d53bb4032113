import { sessionApi } from '../../../../protocol/session-api.ts';
import { tokensApi } from '../../../../protocol/tokens-api.ts';
import { Allowed } from '../../../app/guarded.tsx';
import { Sessions } from '../sessions.tsx';
import { Tokens } from '../tokens.tsx';

/** API tokens, and the browser sessions that were opened with them. */
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
