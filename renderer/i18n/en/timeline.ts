/** The timeline on its page, and on the pages of workers and jobs. */
export const timeline = {
  'timeline.label': 'Attempts by worker and time',
  'timeline.help':
    'Arrow keys move the visible range, plus and minus zoom, N goes to now. Tab moves to the bars. There, arrow keys select another bar, and Enter opens its job.',
  'timeline.zoom': 'Visible range',
  'timeline.zoom.hour': '1 h',
  'timeline.zoom.hours': '6 h',
  'timeline.zoom.day': 'Day',
  'timeline.zoom.week': 'Week',
  'timeline.zoom.month': 'Month',
  'timeline.earlier': 'Show earlier times',
  'timeline.later': 'Show later times',
  'timeline.now': 'Now',
  'timeline.none':
    'No workers and no jobs yet. Each worker has a row here. Each attempt of a job is a bar in it, and pending jobs show their expected start.',
  'timeline.none.add': 'Add worker',
  'timeline.noBars': 'No jobs ran in this range.',
  'timeline.cut':
    'Shows only the newest {count, number} attempts of this range. Zoom in to see the older ones.',
  'timeline.showTable': 'Show as table',
  'timeline.hideTable': 'Hide table',
  'timeline.table': 'Attempts in the visible range',
  'timeline.column.worker': 'Worker',
  'timeline.column.job': 'Job',
  'timeline.column.attempt': 'Attempt',
  'timeline.column.state': 'State',
  'timeline.column.from': 'Start',
  'timeline.column.to': 'End',
  'timeline.bar': '{job} on {worker}, attempt {attempt, number}: {state}, {from} to {to}',
  'timeline.bar.live': '{job} on {worker}, attempt {attempt, number}: {state} since {from}',
  'timeline.bar.expected':
    '{job} on {worker}, attempt {attempt, number}: {state} since {from}, expected end {to}',
  'timeline.bar.predicted': '{job}: pending, may start on {worker} at {from}',
  'timeline.bar.predictedEnd': '{job}: pending, may start on {worker} at {from} and run until about {to}',
  'timeline.about': 'until about {time}',
  'timeline.legend': 'Colors',
  'timeline.state.predicted': 'expected start',
  'timeline.legend.moved': 'requeued or lost',
  'timeline.legend.rest': 'expected time left',
} as const satisfies Readonly<Record<string, string>>;

export type TimelineKey = keyof typeof timeline;
