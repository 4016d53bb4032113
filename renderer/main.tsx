import { createRoot } from 'react-dom/client';
import { App } from './app/app.tsx';
import { createPanelClient } from './api/session.ts';
import { createPreferences } from './state/stores.ts';
import './ui/theme.css';

const root = document.getElementById('root');
if (root === null) throw new Error('the page has no element with the id "root"');
const preferences = createPreferences(localStorage, navigator.languages);
const client = createPanelClient(location.origin);
createRoot(root).render(<App client={client} baseUrl={location.origin} preferences={preferences} />);
