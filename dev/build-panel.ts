/** Builds only the panel. `npm start` without the desktop app needs no other build. */
import { join } from 'node:path';
import { createBuilder } from 'vite';

const builder = await createBuilder({ root: join(import.meta.dirname, '..'), logLevel: 'warn' });
const { client } = builder.environments;
if (client !== undefined) await builder.build(client);
