/** Builds only the panel, which is all that `npm start` needs without a window. */
import { join } from 'node:path';
import { createBuilder } from 'vite';

const builder = await createBuilder({ root: join(import.meta.dirname, '..'), logLevel: 'warn' });
const { client } = builder.environments;
if (client !== undefined) await builder.build(client);
