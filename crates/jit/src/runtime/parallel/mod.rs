pub(super) struct Record;
