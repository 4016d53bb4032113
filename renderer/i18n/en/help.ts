export const help = {
  'help.keys': 'Keyboard shortcuts',
  'help.keyPalette': 'Go to any page, worker or job',
  'help.keyGo': 'Go to overview, workers, jobs, queue, audit, settings or this page',
  'help.keyFilter': 'Go to the filter of the page',
  'help.keyHelp': 'Go to this page',
  'help.keyTab': 'Go to the next link, button or row',
  'help.keyRows': 'Go to the next or previous row of a table',
  'help.keyOpen': 'Open the row',
  'help.keyClose': 'Close a dialog or menu',
  'help.terminal': 'In a terminal',
  'help.doctor': 'Checks this machine, the connection to the orchestrator, and the orchestrator:',
  'help.api': 'API reference, for scripts',
  'help.diagnostics': 'For bug reports',
  'help.diagnosticsNote':
    'Information that helps to find the cause of a problem. It contains no names of workers or jobs and no tokens.',
} as const;
