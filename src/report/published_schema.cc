#include "report/published_schema.h"

#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>

#include <fstream>
#include <vector>

#include "base/check.h"

namespace interlude {

using google::protobuf::FieldDescriptor;

PublishedSchema::PublishedSchema(const std::string& name) {
  std::ifstream file(std::string(INTERLUDE_PUBLISHED_SCHEMAS "/") + name + ".desc",
                     std::ios::binary);
  google::protobuf::FileDescriptorSet set;
  EXPECT_TRUE(set.ParseFromIstream(&file)) << name;
  for (const auto& schema : set.file()) EXPECT_NE(pool_.BuildFile(schema), nullptr);
}

const google::protobuf::Descriptor& PublishedSchema::Message(const std::string& name) const {
  const auto* message = pool_.FindMessageTypeByName(name);
  INTERLUDE_CHECK(message != nullptr, "no message {}", name);
  return *message;
}

std::unique_ptr<google::protobuf::Message> PublishedSchema::New(const std::string& name) {
  return std::unique_ptr<google::protobuf::Message>(factory_.GetPrototype(&Message(name))->New());
}

void ExpectSameFields(const google::protobuf::Descriptor& own,
                      const google::protobuf::Descriptor& published) {
  EXPECT_EQ(own.full_name(), published.full_name());
  for (int i = 0; i < own.field_count(); ++i) {
    const FieldDescriptor& field = *own.field(i);
    const FieldDescriptor* same = published.FindFieldByNumber(field.number());
    ASSERT_NE(same, nullptr) << field.full_name();
    EXPECT_EQ(same->name(), field.name()) << field.full_name();
    EXPECT_EQ(same->type(), field.type()) << field.full_name();
    EXPECT_EQ(same->is_repeated(), field.is_repeated()) << field.full_name();
    if (field.message_type() != nullptr) {
      ExpectSameFields(*field.message_type(), *same->message_type());
    }
    if (field.enum_type() == nullptr) continue;
    for (int v = 0; v < field.enum_type()->value_count(); ++v) {
      const auto& value = *field.enum_type()->value(v);
      const auto* published_value = same->enum_type()->FindValueByNumber(value.number());
      ASSERT_NE(published_value, nullptr) << value.full_name();
      EXPECT_EQ(published_value->name(), value.name());
    }
  }
}

size_t UnknownFields(const google::protobuf::Message& message) {
  const auto* reflection = message.GetReflection();
  auto unknown = static_cast<size_t>(reflection->GetUnknownFields(message).field_count());
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      unknown += UnknownFields(reflection->GetMessage(message, field));
      continue;
    }
    for (int i = 0; i < reflection->FieldSize(message, field); ++i) {
      unknown += UnknownFields(reflection->GetRepeatedMessage(message, field, i));
    }
  }
  return unknown;
}

}  // namespace interlude
