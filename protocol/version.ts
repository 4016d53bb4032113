/** Of this program, agent and orchestrator alike; a test holds it to package.json. */
export const version = '0.1.0';
