import type { help as source } from '../en/help.ts';

export const help: Readonly<Record<keyof typeof source, string>> = {
  'help.keys': '键盘快捷键',
  'help.keyHelp': '打开本页',
  'help.keyTab': '到下一个链接、按钮或行',
  'help.keyRows': '到表格的下一行或上一行',
  'help.keyOpen': '打开该行',
  'help.keyClose': '关闭对话框或菜单',
  'help.terminal': '在终端中',
  'help.doctor': '检查本机、与调度服务器的连接以及调度服务器：',
  'help.api': 'API 参考，供脚本使用',
  'help.diagnostics': '用于错误报告',
  'help.diagnosticsNote': '有助于查找问题原因的信息。不含工作节点名、任务名和令牌。',
  'help.keyPalette': '前往任意页面、工作节点或任务',
  'help.keyGo': '前往概览、工作节点、任务、队列、审计、设置或本页',
  'help.keyFilter': '前往本页的筛选框',
};
