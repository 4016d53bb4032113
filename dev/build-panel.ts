/** Builds the panel alone: all that `npm start` waits for where there is no window. */
import { join } from 'node:path';
import { createBuilder } from 'vite';

const builder = await createBuilder({ root: join(import.meta.dirname, '..'), logLevel: 'warn' });
const { client } = builder.environments;
if (client !== undefined) await builder.build(client);
