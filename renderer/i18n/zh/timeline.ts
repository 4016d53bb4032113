import type { TimelineKey } from '../en/timeline.ts';

export const timeline: Readonly<Record<TimelineKey, string>> = {
  'timeline.label': '按工作节点和时间显示的尝试',
  'timeline.help':
    '方向键移动可见范围，加号和减号缩放，N 回到当前时间。Tab 键移到条形，在那里用方向键选择其他条形，按 Enter 打开其任务。',
  'timeline.zoom': '可见范围',
  'timeline.zoom.hour': '1 小时',
  'timeline.zoom.hours': '6 小时',
  'timeline.zoom.day': '天',
  'timeline.zoom.week': '周',
  'timeline.zoom.month': '月',
  'timeline.earlier': '显示更早的时间',
  'timeline.later': '显示更晚的时间',
  'timeline.now': '现在',
  'timeline.none':
    '还没有工作节点和任务。每个工作节点在这里占一行，任务的每次尝试是其中的一个条形，等待中的任务显示预计开始时间。',
  'timeline.none.add': '添加工作节点',
  'timeline.noBars': '此范围内没有运行任务。',
  'timeline.cut': '仅显示此范围内最新的 {count, number} 次尝试。放大可查看更早的尝试。',
  'timeline.showTable': '显示为表格',
  'timeline.hideTable': '隐藏表格',
  'timeline.table': '可见范围内的尝试',
  'timeline.column.worker': '工作节点',
  'timeline.column.job': '任务',
  'timeline.column.attempt': '尝试',
  'timeline.column.state': '状态',
  'timeline.column.from': '开始',
  'timeline.column.to': '结束',
  'timeline.bar': '{worker} 上的 {job}，第 {attempt, number} 次尝试：{state}，{from} 至 {to}',
  'timeline.bar.live': '{worker} 上的 {job}，第 {attempt, number} 次尝试：{state}，自 {from} 起',
  'timeline.bar.expected':
    '{worker} 上的 {job}，第 {attempt, number} 次尝试：{state}，自 {from} 起，预计 {to} 结束',
  'timeline.bar.predicted': '{job}：等待中，可能于 {from} 在 {worker} 上开始',
  'timeline.legend': '颜色',
  'timeline.state.predicted': '预计开始',
  'timeline.legend.moved': '已重新排队或失联',
  'timeline.legend.rest': '预计到结束',
};
